"""From what families return to the rows of the residual map."""

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp

from mongepatch.frontends.residuals.registry import family_of
from mongepatch.frontends.residuals.site import Rows, Site


def rows(site: Site) -> Iterator[jax.Array]:
    """All residuals of a site as vectors, weighted so that JᵀJ counts every copy as often as the density does."""
    returned = family_of(site.fn).residual(site)
    for part in returned if isinstance(returned, list) else [returned]:
        if isinstance(part, Site):
            yield from rows(part)
        else:
            yield _weighted(part if isinstance(part, Rows) else Rows(part, site.fn.event_dim), site).ravel()


def _weighted(part: Rows, site: Site) -> jax.Array:
    """Residuals times the root of how many copies each stands for."""
    values, copies = jnp.asarray(part.values), len(site.batch)
    values = values.reshape((1,) * (copies + part.event_dim - values.ndim) + values.shape)
    shared = tuple(axis for axis, size in enumerate(site.batch) if values.shape[axis] == 1 < size)
    if site.weight is None:
        return values * math.sqrt(math.prod(site.batch[axis] for axis in shared))
    weight = jnp.broadcast_to(site.weight, site.batch).astype(values.dtype).sum(shared, keepdims=True)
    return values * jnp.sqrt(weight).reshape(weight.shape + (1,) * part.event_dim)
