"""The residual map of a model: residuals of all random variables as a function of flat positions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from mongepatch._typing import Vector
from mongepatch.frontends.numpyro.model import Model, is_latent
from mongepatch.frontends.numpyro.residuals import Site, rows


def residual_map(model: Model) -> tuple[Callable[[Vector], Vector] | None, dict[str, int]]:
    """f, and how many of its entries each site has. Entries that no parameter touches are left out; f may be empty."""
    position = jax.ShapeDtypeStruct((model.layout.size,), jnp.result_type(float))
    names: list[str] = []

    def parts(x: Vector) -> list[jax.Array]:
        named = list(_parts(model, x))
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


def _parts(model: Model, position: Vector) -> Iterator[tuple[str, jax.Array]]:
    raw = model.layout.named(position)
    for name, site in model.at(position).items():
        if site["type"] == "sample":
            for part in rows(_site(site, raw.get(name))):
                yield name, part.astype(position.dtype)


def _site(site: Mapping[str, Any], raw: Any) -> Site:
    fn, value = site["fn"], site["value"]
    if value is None:  # of numpyro.factor in some versions
        return Site(fn, value, observed=True)
    shape = jnp.shape(value)
    batch = jnp.broadcast_shapes(fn.batch_shape, shape[: len(shape) - fn.event_dim])
    return Site(fn, value, raw, not is_latent(site), batch, site["scale"])


def _touched(jaxpr: Any) -> list[bool]:
    """Which results of a program can depend on its argument."""
    reached = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(variable, Literal) and variable in reached for variable in equation.invars):
            reached.update(equation.outvars)
    return [not isinstance(variable, Literal) and variable in reached for variable in jaxpr.outvars]
