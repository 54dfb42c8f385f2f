"""The residual map of a model: residuals of all random variables as a function of flat positions."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from mongepatch._typing import AnyVector, Vector
from mongepatch.frontends.residuals.registry import family_of
from mongepatch.frontends.residuals.site import ResidualArray, Site
from mongepatch.targets.layout import Layout
from mongepatch.targets.residuals import DataSite, ModelResiduals


class ResidualMaps(NamedTuple):
    """What `residual_map` finds in a model."""

    residuals: Callable[[Vector], AnyVector] | None
    """All residuals that depend on the position; None where there are none."""
    model: ModelResiduals | None
    """Those of latent variables and of data apart; None where no latent variable has any."""
    counts: dict[str, int]
    """How many residuals belong to each variable."""


def residual_map(
    sites: Callable[[Vector], Iterable[tuple[str, Site]]], layout: Layout, unbounded: Collection[str]
) -> ResidualMaps:
    """The residuals of a model; entries that do not depend on the position are left out.

    Args:
        sites: the random variables of a model at a position, by name; a name may occur more than once.
        layout: names and shapes of the latent variables.
        unbounded: names of those whose coordinates are their own values.
    """
    position = jax.ShapeDtypeStruct((layout.size,), jnp.result_type(float))
    names: list[str] = []
    of_data: list[bool] = []

    def parts(x: Vector) -> list[jax.Array]:
        named = [
            (name, site.observed, part.astype(x.dtype)) for name, site in sites(x) for part in residuals_of_site(site)
        ]
        names[:], of_data[:] = [name for name, _, _ in named], [observed for _, observed, _ in named]
        return [part for _, _, part in named]

    closed = jax.make_jaxpr(parts)(position)
    used = outputs_that_depend_on_input(closed.jaxpr)
    counts = dict.fromkeys(names, 0)
    for name, variable, use in zip(names, closed.jaxpr.outvars, used, strict=True):
        counts[name] += variable.aval.size if use else 0
    latent = [use and not observed for use, observed in zip(used, of_data, strict=True)]

    def chosen(x: Vector, which: list[bool]) -> AnyVector:
        return jnp.concatenate([part for part, use in zip(parts(x), which, strict=True) if use])

    def data(x: Vector) -> tuple[DataSite, ...]:
        observed = [site for _, site in sites(x) if site.observed and hasattr(site.fn, "log_prob")]
        return tuple(_data_site(site, x.dtype) for site in observed)

    model = ModelResiduals(lambda x: chosen(x, latent), data, layout.mask(unbounded)) if any(latent) else None
    return ResidualMaps((lambda x: chosen(x, used)) if any(used) else None, model, counts)


def residuals_of_site(site: Site) -> Iterator[jax.Array]:
    """All residuals of a site as vectors, weighted so that JᵀJ counts every copy as often as the log density does."""
    returned = family_of(site.fn).residual(site)
    for part in returned if isinstance(returned, list) else [returned]:
        if isinstance(part, Site):
            yield from residuals_of_site(part)
        else:
            array = part if isinstance(part, ResidualArray) else ResidualArray(part, site.fn.event_dim)
            yield _weighted(array, site).ravel()


def _data_site(site: Site, dtype: Any) -> DataSite:
    """What an observed variable says about the parameters."""
    log_likelihood = jnp.asarray(site.fn.log_prob(site.value), dtype)
    if site.weight is not None:
        log_likelihood = log_likelihood * jnp.asarray(site.weight, dtype)
    residuals = [part.astype(dtype) for part in residuals_of_site(site)]
    scale = _noise_scale(site.fn)
    return DataSite(
        jnp.concatenate([jnp.zeros(0, dtype), *residuals]),
        log_likelihood.sum(),
        jnp.ones((), dtype) if scale is None else jnp.reshape(scale, ()).astype(dtype) ** -2,
    )


def _noise_scale(fn: Any) -> jax.Array | None:
    """σ of a distribution with a location and one scale for all copies; None of any other."""
    while hasattr(fn, "base_dist"):
        fn = fn.base_dist
    if fn.event_dim or not hasattr(fn, "loc") or jnp.size(getattr(fn, "scale", jnp.zeros(0))) != 1:
        return None
    return jnp.asarray(fn.scale)


def _weighted(array: ResidualArray, site: Site) -> jax.Array:
    """Residuals times the square root of the number of copies that each of them stands for."""
    values, batch_dim = jnp.asarray(array.values), len(site.batch)
    values = values.reshape((1,) * (batch_dim + array.event_dim - values.ndim) + values.shape)
    shared = tuple(axis for axis, size in enumerate(site.batch) if values.shape[axis] == 1 < size)
    if site.weight is None:
        return values * math.sqrt(math.prod(site.batch[axis] for axis in shared))
    weight = jnp.broadcast_to(site.weight, site.batch).astype(values.dtype).sum(shared, keepdims=True)
    return values * jnp.sqrt(weight).reshape(weight.shape + (1,) * array.event_dim)


def outputs_that_depend_on_input(jaxpr: Any) -> list[bool]:
    """Whether each output of a program can depend on its argument."""
    dependent = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(variable, Literal) and variable in dependent for variable in equation.invars):
            dependent.update(equation.outvars)
    return [not isinstance(variable, Literal) and variable in dependent for variable in jaxpr.outvars]
