"""The data of a NumPyro model and the names of its dimensions, for the groups of the result."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_RESERVED_DIMS = frozenset({"chain", "draw"})


def observed_data(sites: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Values of observed sites, by name. Missing entries are NaN."""
    found = {}
    for name, site in sites.items():
        if is_data(site):
            value, present = np.asarray(site["value"]), observed_entries(name, sites)
            found[data_name(name, sites)] = value if present is None else np.where(present, value, np.nan)
    return found


def data_name(name: str, sites: Mapping[str, Mapping[str, Any]]) -> str:
    """What the user calls the data of an observed site: NumPyro adds a suffix where there is an `obs_mask`."""
    given = name.removesuffix("_observed")
    return given if given != name and f"{given}_unobserved" in sites and given in sites else name


def observed_entries(name: str, sites: Mapping[str, Mapping[str, Any]]) -> np.ndarray | None:
    """Which entries of an observed site are there, where it has an `obs_mask`; None where it has none."""
    if data_name(name, sites) == name:
        return None
    fn, value = sites[name]["fn"], sites[name]["value"]
    mask = np.asarray(fn._mask)
    return np.broadcast_to(mask.reshape(mask.shape + (1,) * fn.event_dim), np.shape(value))


def is_data(site: Mapping[str, Any]) -> bool:
    """Whether the value of a site was given by the user; those of `numpyro.factor` are not."""
    return site["type"] == "sample" and site["is_observed"] and not site["infer"].get("is_auxiliary")


def constant_data(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], sites: Mapping[str, Mapping[str, Any]]
) -> dict[str, np.ndarray]:
    """Arrays among the model's arguments that are not the values of sites, by the names of the arguments."""
    try:
        bound = inspect.signature(model).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {}
    arguments = {**bound.arguments, **bound.arguments.get("kwargs", {})}
    observed = [*observed_data(sites).values(), *(site["value"] for site in sites.values() if is_data(site))]
    return {
        name: np.asarray(value)
        for name, value in arguments.items()
        if isinstance(value, np.ndarray | jax.Array)
        and np.issubdtype(value.dtype, np.number)
        and not any(_same(value, other) for other in observed)
    }


def _same(value: Any, other: Any) -> bool:
    """Whether two arrays hold the same numbers, as where a model has converted its argument."""
    return np.shape(value) == np.shape(other) and bool(np.array_equal(np.asarray(value), np.asarray(other), True))


def dims_of(sites: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The dims of every site: names of its plates, of `infer={"event_dims": [...]}`, and `{site}_dim_{axis}`.

    A plate named "chain" or "draw", the dims of all results, gets the suffix `_plate`.
    """
    return {site["name"]: _dims(site) for site in sites}


def _dims(site: Mapping[str, Any]) -> list[str]:
    name, shape = site["name"], jnp.shape(site["value"])
    dims = [f"{name}_dim_{axis}" for axis in range(len(shape))]
    event_dim = site["fn"].event_dim if site["type"] == "sample" else 0
    batch_dim = len(shape) - event_dim
    for frame in site["cond_indep_stack"]:
        axis = batch_dim + frame.dim
        if axis >= 0 and shape[axis] == frame.size:
            dims[axis] = f"{frame.name}_plate" if frame.name in _RESERVED_DIMS else frame.name
    event_dims = (site.get("infer") or {}).get("event_dims", [])
    if len(event_dims) <= len(shape):
        dims[len(shape) - len(event_dims) :] = event_dims
    return dims
