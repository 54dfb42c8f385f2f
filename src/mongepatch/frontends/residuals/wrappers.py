"""Distributions made of others: their residuals are those of what they are made of."""

from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import biject_to, transforms
from numpyro.distributions.censored import LeftCensoredDistribution, RightCensoredDistribution
from numpyro.distributions.discrete import ZeroInflatedProbs
from numpyro.distributions.distribution import Unit

from mongepatch.frontends.residuals.counts import arc
from mongepatch.frontends.residuals.fallback import FORMULA, OF_DATA, fallback
from mongepatch.frontends.residuals.registry import register_residual
from mongepatch.frontends.residuals.site import Residual, Site


@register_residual(dist.ExpandedDistribution, formula="")
def expanded(site: Site) -> Residual:
    """Copies of a distribution: the site knows how many."""
    return site.instead(site.fn.base_dist, site.value, site.raw)


@register_residual(dist.Independent, formula="")
def independent(site: Site) -> Residual:
    """Axes of an event that are copies: they become copies again."""
    fn, taken = site.fn.base_dist, site.fn.reinterpreted_batch_ndims
    weight = site.weight if site.weight is None else jnp.reshape(site.weight, jnp.shape(site.weight) + (1,) * taken)
    batch = site.batch + fn.batch_shape[len(fn.batch_shape) - taken :]
    return site.instead(fn, site.value, site.raw)._replace(batch=batch, weight=weight)


@register_residual(dist.MaskedDistribution, formula="")
def masked(site: Site) -> Residual:
    """What is masked counts for nothing, and may be anything, NaN included."""
    fn, mask = site.fn.base_dist, site.fn._mask
    if isinstance(mask, bool):
        return site.instead(fn, site.value, site.raw) if mask else []
    each = jnp.reshape(mask, jnp.shape(mask) + (1,) * fn.event_dim)
    value = jnp.where(each, site.value, fn.support.feasible_like(site.value)) if site.observed else site.value
    weight = mask if site.weight is None else mask * site.weight
    return site.instead(fn, value, site.raw)._replace(weight=weight)


@register_residual(dist.TransformedDistribution, formula="")
def transformed(site: Site) -> Residual:
    """The base distribution's, at the value before the transforms."""
    fn = site.fn
    if site.raw is not None and len(fn.transforms) == 1 and _makes_coordinates(fn.transforms[0]):
        return site.instead(fn.base_dist, site.raw)
    value = site.value
    for transform in reversed(fn.transforms):
        value = transform.inv(value)
    return site.instead(fn.base_dist, value)


def _makes_coordinates(transform: Any) -> bool:
    """Whether raw values are made by this very transform: they *are* the base's then, and never saturate."""
    free = isinstance(transform, transforms.ParameterFreeTransform)
    return free and type(biject_to(transform.codomain)) is type(transform)


@register_residual(LeftCensoredDistribution, RightCensoredDistribution, formula="")
def censored(site: Site) -> Residual:
    """The base distribution's, at the bound where the value is censored."""
    return site.instead(site.fn.base_dist, site.value)


@register_residual(ZeroInflatedProbs, formula="")
def zero_inflated(site: Site) -> Residual:
    """The counts' own, and 2·arctan e^{η/2} of the gate's log-odds η: as if it were known which zeros are whose."""
    gate = jnp.asarray(site.fn.gate)
    return [site.instead(site.fn.base_dist, site.value), arc(jnp.log(gate) - jnp.log1p(-gate))]


# Made of their Cholesky factors, which raw values know better than the matrices do.
register_residual(dist.Wishart, dist.InverseWishart, formula=FORMULA, of_data=OF_DATA)(fallback)


@register_residual(Unit, dist.Delta, dist.ImproperUniform, formula="none")
def none(site: Site) -> Residual:
    """No residual: `factor` and flat priors say nothing of a scale, and a Delta has none."""
    return []
