"""The data of a model, for the result's groups."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np


def observed_data(sites: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Values of observed sites, by name."""
    return {name: np.asarray(site["value"]) for name, site in sites.items() if is_data(site)}


def is_data(site: Mapping[str, Any]) -> bool:
    """Whether a site has been given its value by the user, and is not `numpyro.factor`."""
    return site["type"] == "sample" and site["is_observed"] and not site["infer"].get("is_auxiliary")


def constant_data(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], sites: Mapping[str, Mapping[str, Any]]
) -> dict[str, np.ndarray]:
    """Arrays among the model's arguments that are not the values of sites, by the names of the arguments."""
    try:
        bound = inspect.signature(model).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {}
    given = {**bound.arguments, **bound.arguments.get("kwargs", {})}
    values = [site["value"] for site in sites.values() if is_data(site)]
    return {
        name: np.asarray(value)
        for name, value in given.items()
        if isinstance(value, np.ndarray | jax.Array)
        and np.issubdtype(value.dtype, np.number)
        and name not in sites
        and not any(value is other for other in values)
    }
