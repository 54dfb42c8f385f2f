"""The data of a PyMC model and the names of its dimensions, as in PyMC's own results."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from pymc.backends.arviz import find_constants, find_observations
from pytensor.graph.replace import clone_replace
from pytensor.tensor import constant

from mongepatch.targets import Target


def observed_data(model: Any) -> dict[str, np.ndarray]:
    """Values of observed variables, by name; where PyMC imputes missing ones, the data as given too, with NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about observations that are expressions, which are left out
        found = {name: np.asarray(value) for name, value in find_observations(model).items()}
    return found | dict(_with_holes(model, found))


def _with_holes(model: Any, found: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Data of which PyMC imputes a part: `y` from `y_observed`, with NaN in the place of `y_unobserved`."""
    for name, values in found.items():
        whole = model.named_vars.get(name.removesuffix("_observed"))
        missing = model.named_vars.get(name.removesuffix("_observed") + "_unobserved")
        if whole is None or missing is None or not name.endswith("_observed"):
            continue
        nans = np.full(tuple(missing.shape.eval()), np.nan)
        known = {model[name]: constant(values.astype(model[name].dtype)), missing: constant(nans)}
        yield whole.name, np.asarray(clone_replace([whole], replace=known)[0].eval())


def constant_data(model: Any) -> dict[str, np.ndarray]:
    """Other data, `pm.Data`, by name."""
    return {name: np.asarray(value) for name, value in find_constants(model).items()}


def dims_and_coords(model: Any, target: Target) -> tuple[dict[str, list[str]], dict[str, list[Any]]]:
    """Names of the dimensions of variables and data, and labels along them."""
    data = {**target.observed_data, **target.constant_data}
    shapes = {**target.variables, **{name: np.shape(value) for name, value in data.items()}}
    dims = {name: _dims(name, shape, model.named_vars_to_dims.get(name, ())) for name, shape in shapes.items()}
    used = {dim for names in dims.values() for dim in names}
    return dims, {dim: list(labels) for dim, labels in model.coords.items() if labels is not None and dim in used}


def _dims(name: str, shape: tuple[int, ...], given: Any) -> list[str]:
    defaults = [f"{name}_dim_{axis}" for axis in range(len(shape))]
    return (
        [default if dim is None else dim for dim, default in zip(given, defaults, strict=True)] if given else defaults
    )
