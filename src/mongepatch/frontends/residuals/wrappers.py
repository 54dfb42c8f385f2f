"""Distributions with a base distribution: their residuals are those of the base."""

from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import biject_to, transforms
from numpyro.distributions.censored import LeftCensoredDistribution, RightCensoredDistribution
from numpyro.distributions.discrete import ZeroInflatedProbs
from numpyro.distributions.distribution import Unit

from mongepatch.frontends.residuals.counts import arcsine_transform
from mongepatch.frontends.residuals.registry import FALLBACK, fallback, register_residual
from mongepatch.frontends.residuals.site import Residual, Site


@register_residual(dist.ExpandedDistribution, formula="")
def expanded(site: Site) -> Residual:
    """Copies of a distribution; their number is in the shape of the site."""
    return site.with_distribution(site.fn.base_dist, site.value, site.raw)


@register_residual(dist.Independent, formula="")
def independent(site: Site) -> Residual:
    """Event axes that are independent copies become batch axes again."""
    fn, count = site.fn.base_dist, site.fn.reinterpreted_batch_ndims
    weight = site.weight if site.weight is None else jnp.reshape(site.weight, jnp.shape(site.weight) + (1,) * count)
    batch = site.batch + fn.batch_shape[len(fn.batch_shape) - count :]
    return site.with_distribution(fn, site.value, site.raw)._replace(batch=batch, weight=weight)


@register_residual(dist.MaskedDistribution, formula="")
def masked(site: Site) -> Residual:
    """Masked entries have weight 0, and may have any value, NaN included."""
    fn, mask = site.fn.base_dist, site.fn._mask
    if isinstance(mask, bool):
        return site.with_distribution(fn, site.value, site.raw) if mask else []
    each = jnp.reshape(mask, jnp.shape(mask) + (1,) * fn.event_dim)
    value = jnp.where(each, site.value, fn.support.feasible_like(site.value)) if site.observed else site.value
    weight = mask if site.weight is None else mask * site.weight
    return site.with_distribution(fn, value, site.raw)._replace(weight=weight)


@register_residual(dist.TransformedDistribution, formula="")
def transformed(site: Site) -> Residual:
    """The base distribution's residual, at the value before the transforms."""
    fn = site.fn
    if site.raw is not None and len(fn.transforms) == 1 and _maps_raw_value(fn.transforms[0]):
        return site.with_distribution(fn.base_dist, site.raw)
    value = site.value
    for transform in reversed(fn.transforms):
        value = transform.inv(value)
    return site.with_distribution(fn.base_dist, value)


def _maps_raw_value(transform: Any) -> bool:
    """Whether this transform is the one of the raw value, which is then the value of the base distribution."""
    free = isinstance(transform, transforms.ParameterFreeTransform)
    return free and type(biject_to(transform.codomain)) is type(transform)


@register_residual(LeftCensoredDistribution, RightCensoredDistribution, formula="")
def censored(site: Site) -> Residual:
    """The base distribution's residual, at the bound where the value is censored."""
    return site.with_distribution(site.fn.base_dist, site.value)


@register_residual(ZeroInflatedProbs, formula="")
def zero_inflated(site: Site) -> Residual:
    """Those of the counts, and 2·arctan e^{η/2} of the gate's log-odds η, as if each zero's origin were known."""
    gate = jnp.asarray(site.fn.gate)
    return [site.with_distribution(site.fn.base_dist, site.value), arcsine_transform(jnp.log(gate) - jnp.log1p(-gate))]


# Their base distributions are of Cholesky factors, but the raw value is more precise than a factor of the matrix.
register_residual(dist.Wishart, dist.InverseWishart, formula=FALLBACK.formula, of_data=FALLBACK.of_data)(fallback)


@register_residual(Unit, dist.Delta, dist.ImproperUniform, formula="none")
def none(site: Site) -> Residual:
    """No residual: `factor` and flat priors do not define a scale, and a Delta has none."""
    return []
