"""The sites of a NumPyro model, found without computing them: every single operation would be compiled on its own."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.distributions import Distribution
from numpyro.infer import init_to_uniform
from numpyro.primitives import Messenger

from mongepatch.program import jit

Sites = dict[str, dict[str, Any]]
_one_at_a_time = RLock()


class ValidatingNumbers(Messenger):  # type: ignore[misc]  # numpyro has no types
    """Runs a model so that NumPyro validates those arguments of distributions alone that are numbers.

    Of a traced argument it cannot tell anything. It compiles a program for every operation of its check nevertheless
    (22 for a Cholesky factor), since it computes all that does not depend on the argument.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the model returns."""
        with _numbers_validated():
            return super().__call__(*args, **kwargs)


@contextmanager
def _numbers_validated() -> Iterator[None]:
    with _one_at_a_time:
        get_args = Distribution.get_args
        Distribution.get_args = lambda self: {k: v for k, v in get_args(self).items() if not _is_traced(v)}
        try:
            yield
        finally:
            Distribution.get_args = get_args


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
        sites = sites_at(ValidatingNumbers(model), args, kwargs, key)
        if any(_is_traced(getattr(site.get("fn"), "_mask", None)) for site in sites.values()):
            raise NotImplementedError("which data are missing is computed")
        found["sites"], found["names"] = jax.tree.flatten(list(sites.values())), list(sites)
        known = {name: site["value"] for name, site in sites.items() if _is_known(site)}
        return {name: value for name, value in known.items() if any(map(_is_traced, jax.tree.leaves(value)))}

    computed = jax.eval_shape(trace, jax.eval_shape(lambda: jax.random.key(0)))
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
