"""A NumPyro model's random variables, as the shared table of residuals sees them."""

from collections.abc import Iterator, Mapping
from typing import Any

import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.frontends.numpyro.model import Model, is_latent
from mongepatch.frontends.residuals import Line, Site, distribution_name, formula_of


def sites_at(model: Model, position: Vector) -> Iterator[tuple[str, Site]]:
    """Every random variable at a position, by name."""
    raw = model.layout.named(position)
    for name, site in model.at(position).items():
        if site["type"] == "sample":
            yield name, _site(site, raw.get(name))


def _site(site: Mapping[str, Any], raw: Any) -> Site:
    fn, value = site["fn"], site["value"]
    if value is None:  # of numpyro.factor in some versions
        return Site(fn, value, observed=True)
    shape = jnp.shape(value)
    batch = jnp.broadcast_shapes(fn.batch_shape, shape[: len(shape) - fn.event_dim])
    return Site(fn, value, raw, not is_latent(site), batch, site["scale"])


def lines(model: Model, counts: Mapping[str, int]) -> Iterator[Line]:
    """What there is to tell of every random variable."""
    for name, site in model.sites.items():
        if site["type"] == "sample":
            fn, latent = site["fn"], is_latent(site)
            kind = "latent" if latent else "factor" if site["infer"].get("is_auxiliary") else "observed"
            shape = jnp.shape(site["value"])
            yield Line(name, distribution_name(fn), kind, shape, counts.get(name, 0), formula_of(fn, latent))
