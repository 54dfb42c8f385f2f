"""Names of dimensions: plates as dims, and ArviZ's own for the rest."""

from collections.abc import Iterable, Mapping
from typing import Any

import jax.numpy as jnp

_TAKEN = frozenset({"chain", "draw"})


def dims_of(sites: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The dims of every site: names of its plates, of `infer={"event_dims": [...]}`, and `{site}_dim_{axis}`.

    A plate that is called like a dim of all results gets the suffix `_plate`.
    """
    return {site["name"]: _dims(site) for site in sites}


def _dims(site: Mapping[str, Any]) -> list[str]:
    name, shape = site["name"], jnp.shape(site["value"])
    dims = [f"{name}_dim_{axis}" for axis in range(len(shape))]
    events = site["fn"].event_dim if site["type"] == "sample" else 0
    copies = len(shape) - events
    for frame in site["cond_indep_stack"]:
        axis = copies + frame.dim
        if axis >= 0 and shape[axis] == frame.size:
            dims[axis] = f"{frame.name}_plate" if frame.name in _TAKEN else frame.name
    given = (site.get("infer") or {}).get("event_dims", [])
    if len(given) <= len(shape):
        dims[len(shape) - len(given) :] = given
    return dims
