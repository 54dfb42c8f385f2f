"""The residual map of a model: residuals of all random variables as a function of flat positions."""

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from mongepatch._typing import Vector
from mongepatch.frontends.residuals.rows import rows
from mongepatch.frontends.residuals.site import Site


def residual_map(
    sites: Callable[[Vector], Iterable[tuple[str, Site]]], dimension: int
) -> tuple[Callable[[Vector], Vector] | None, dict[str, int]]:
    """f, and how many of its entries each variable has. Entries that no parameter touches are left out; f may be empty.

    `sites` says what a model's random variables are at a position, by name; a name may come more than once.
    """
    position = jax.ShapeDtypeStruct((dimension,), jnp.result_type(float))
    names: list[str] = []

    def parts(x: Vector) -> list[jax.Array]:
        named = [(name, part.astype(x.dtype)) for name, site in sites(x) for part in rows(site)]
        names[:] = [name for name, _ in named]
        return [part for _, part in named]

    closed = jax.make_jaxpr(parts)(position)
    used = _touched(closed.jaxpr)
    counts = dict.fromkeys(names, 0)
    for name, variable, use in zip(names, closed.jaxpr.outvars, used, strict=True):
        counts[name] += variable.aval.size if use else 0
    if not any(counts.values()):
        return None, counts
    return lambda x: jnp.concatenate([part for part, use in zip(parts(x), used, strict=True) if use]), counts


def _touched(jaxpr: Any) -> list[bool]:
    """Which results of a program can depend on its argument."""
    reached = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(variable, Literal) and variable in reached for variable in equation.invars):
            reached.update(equation.outvars)
    return [not isinstance(variable, Literal) and variable in reached for variable in jaxpr.outvars]
