"""The residual map of a model: residuals of all random variables as a function of flat positions."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from mongepatch._typing import Vector
from mongepatch.frontends.residuals.registry import family_of
from mongepatch.frontends.residuals.site import ResidualArray, Site


def residual_map(
    sites: Callable[[Vector], Iterable[tuple[str, Site]]], dimension: int
) -> tuple[Callable[[Vector], Vector] | None, dict[str, int]]:
    """The residual map f, and how many of its entries belong to each variable.

    Entries that do not depend on the position are left out. If none is left, f is None.

    Args:
        sites: the random variables of a model at a position, by name; a name may occur more than once.
        dimension: the length of positions.
    """
    position = jax.ShapeDtypeStruct((dimension,), jnp.result_type(float))
    names: list[str] = []

    def parts(x: Vector) -> list[jax.Array]:
        named = [(name, part.astype(x.dtype)) for name, site in sites(x) for part in residuals_of_site(site)]
        names[:] = [name for name, _ in named]
        return [part for _, part in named]

    closed = jax.make_jaxpr(parts)(position)
    used = _outputs_that_depend_on_input(closed.jaxpr)
    counts = dict.fromkeys(names, 0)
    for name, variable, use in zip(names, closed.jaxpr.outvars, used, strict=True):
        counts[name] += variable.aval.size if use else 0
    if not any(counts.values()):
        return None, counts
    return lambda x: jnp.concatenate([part for part, use in zip(parts(x), used, strict=True) if use]), counts


def residuals_of_site(site: Site) -> Iterator[jax.Array]:
    """All residuals of a site as vectors, weighted so that JᵀJ counts every copy as often as the log density does."""
    returned = family_of(site.fn).residual(site)
    for part in returned if isinstance(returned, list) else [returned]:
        if isinstance(part, Site):
            yield from residuals_of_site(part)
        else:
            array = part if isinstance(part, ResidualArray) else ResidualArray(part, site.fn.event_dim)
            yield _weighted(array, site).ravel()


def _weighted(array: ResidualArray, site: Site) -> jax.Array:
    """Residuals times the square root of the number of copies that each of them stands for."""
    values, batch_dim = jnp.asarray(array.values), len(site.batch)
    values = values.reshape((1,) * (batch_dim + array.event_dim - values.ndim) + values.shape)
    shared = tuple(axis for axis, size in enumerate(site.batch) if values.shape[axis] == 1 < size)
    if site.weight is None:
        return values * math.sqrt(math.prod(site.batch[axis] for axis in shared))
    weight = jnp.broadcast_to(site.weight, site.batch).astype(values.dtype).sum(shared, keepdims=True)
    return values * jnp.sqrt(weight).reshape(weight.shape + (1,) * array.event_dim)


def _outputs_that_depend_on_input(jaxpr: Any) -> list[bool]:
    """Whether each output of a program can depend on its argument."""
    dependent = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(variable, Literal) and variable in dependent for variable in equation.invars):
            dependent.update(equation.outvars)
    return [not isinstance(variable, Literal) and variable in dependent for variable in jaxpr.outvars]
