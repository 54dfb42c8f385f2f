"""The sites of a NumPyro model, found without computing them: every single operation would be compiled on its own."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer import init_to_uniform

from mongepatch.program import jit

Sites = dict[str, dict[str, Any]]


def sites_at(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], key: Any) -> Sites:
    """The sites of a model at the point that a random key makes, in the model's order."""
    seeded = handlers.substitute(handlers.seed(model, key), substitute_fn=init_to_uniform)
    return dict(handlers.trace(seeded).get_trace(*args, **kwargs))


def abstract_sites(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sites:
    """The sites of a model, with ones in the place of all numbers that depend on parameters.

    Data and the values of `numpyro.param` and mutable sites are what they are. Raises where that is not enough to
    check the model by.
    """
    found: dict[str, Any] = {}

    def trace(key: Any) -> dict[str, Any]:
        sites = sites_at(model, args, kwargs, key)
        if any(_is_traced(getattr(site.get("fn"), "_mask", None)) for site in sites.values()):
            raise NotImplementedError("which data are missing is computed")
        found["sites"], found["names"] = jax.tree.flatten(list(sites.values())), list(sites)
        known = {name: site["value"] for name, site in sites.items() if _is_known(site)}
        return {name: value for name, value in known.items() if any(map(_is_traced, jax.tree.leaves(value)))}

    computed = jax.eval_shape(trace, jax.random.key(0))
    if computed:
        computed = jit(trace, quick=True)(jax.random.key(0))
    leaves, structure = found["sites"]
    sites = jax.tree.unflatten(structure, [_placeholder(leaf) if _is_traced(leaf) else leaf for leaf in leaves])
    known = dict(zip(found["names"], sites, strict=True))
    for name, value in computed.items():
        known[name]["value"] = value
    return known


def _is_known(site: Mapping[str, Any]) -> bool:
    """Whether the value of a site does not depend on parameters."""
    return site["type"] in ("param", "mutable") or bool(site.get("is_observed"))


def _is_traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


def _placeholder(tracer: Any) -> Any:
    """Ones of the same shape; nothing in the place of a key, which nobody looks at."""
    if jnp.issubdtype(tracer.dtype, jax.dtypes.prng_key):
        return None
    return np.ones(tracer.shape, tracer.dtype)
