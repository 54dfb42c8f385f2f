"""Positive variables: √I·log(x/typical x), with I the Fisher information of the location of log x.

The unconstrained coordinate of a positive variable is u = log x, and most positive distributions are scale families:
the density of u is a function of u − log scale. The residual is linear in both. JᵀJ is then exactly the expected joint
information of u and log scale. That of x/scale would grow exponentially for large u and vanish for small u.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from mongepatch.frontends.residuals.registry import register_residual
from mongepatch.frontends.residuals.site import Residual, Site

_EULER_GAMMA = 0.5772156649015329


@register_residual(dist.HalfNormal, formula="√2·(log x − log scale + 0.64)")
def half_normal(site: Site) -> Residual:
    """The information is E 2x²/scale² = 2; the mean of log|z| is −(γ + log 2)/2."""
    return 2**0.5 * (site.log - jnp.log(site.fn.scale) + (_EULER_GAMMA + math.log(2)) / 2)


@register_residual(dist.HalfCauchy, formula="√½·(log x − log scale)")
def half_cauchy(site: Site) -> Residual:
    """The logarithm has the density of a hyperbolic secant, with information ½ and mean log scale."""
    return 0.5**0.5 * (site.log - jnp.log(site.fn.scale))


@register_residual(dist.Gamma, formula="√k·log(x·rate/k), k the concentration", of_data="½·log k")
def gamma(site: Site) -> Residual:
    """The information is k. In k at a given mean it is about ½, half of which comes from ½·log k."""
    k = site.fn.concentration
    residual = jnp.sqrt(k) * (site.log + jnp.log(site.fn.rate) - jnp.log(k))
    return [residual, 0.5 * jnp.log(k)] if site.observed else residual


@register_residual(dist.Exponential, formula="log(x·rate) + 0.58")
def exponential(site: Site) -> Residual:
    """A Gamma of concentration 1, whose logarithm has the mean −γ."""
    return site.log + jnp.log(site.fn.rate) + _EULER_GAMMA


@register_residual(dist.Weibull, formula="c·log(x/scale) + 0.58, c the concentration")
def weibull(site: Site) -> Residual:
    """(x/scale)ᶜ is exponential."""
    return site.fn.concentration * (site.log - jnp.log(site.fn.scale)) + _EULER_GAMMA


@register_residual(dist.Levy, formula="√½·(log(x − loc) − log scale − 1.27)")
def levy(site: Site) -> Residual:
    """scale/(x − loc) is the square of a normal variable, a Gamma of concentration ½."""
    distance = site._replace(value=site.value - site.fn.loc)
    return 0.5**0.5 * (distance.log - jnp.log(site.fn.scale) - _EULER_GAMMA - math.log(2))


@register_residual(dist.Dagum, formula="c/√3·log(x/scale), c the sharpness")
def dagum(site: Site) -> Residual:
    """With concentration 1 the logarithm is logistic, of scale 1/c."""
    return site.fn.sharpness / 3**0.5 * (site.log - jnp.log(site.fn.scale))


@register_residual(dist.FoldedDistribution, formula="√2·(log x − ½·log(loc² + scale²))")
def folded(site: Site) -> Residual:
    """As for the half normal, with the root mean square as the scale."""
    base = site.fn.base_dist
    return 2**0.5 * (site.log - 0.5 * jnp.log(base.loc**2 + base.scale**2))


@register_residual(
    dist.LeftTruncatedDistribution, formula="√(i(1 + h²))·log((x − low)/(scale·h)), h(t) ≈ E z⁺, t = (loc − low)/scale"
)
def left_truncated(site: Site) -> Residual:
    """For a normal base, x − low is about scale·h, with relative standard deviation 1/√(1 + h²).

    i is the Fisher information of the base's loc, relative to that of a normal. h = (t + √(t² + 8/π))/2 is exact for a
    half normal, t = 0. It approaches t if the bound is far below loc, and is small if only the tail is left.
    """
    fn = site.fn
    return _truncated(site, site.value - fn.low, (fn.base_dist.loc - fn.low) / fn.base_dist.scale)


@register_residual(dist.RightTruncatedDistribution, formula="as truncated on the left, mirrored")
def right_truncated(site: Site) -> Residual:
    """As truncated on the left, mirrored."""
    fn = site.fn
    return _truncated(site, fn.high - site.value, (fn.high - fn.base_dist.loc) / fn.base_dist.scale)


def _truncated(site: Site, distance: jax.Array, t: jax.Array) -> jax.Array:
    root = math.sqrt(8 / math.pi)
    log_h = jnp.arcsinh(t / root) + math.log(root / 2)  # log of (t + √(t² + 8/π))/2, without cancellation
    log_distance = site._replace(value=distance).log
    slope = jnp.sqrt(_information_of_loc(site.fn.base_dist) * (1 + jnp.exp(2 * log_h)))
    return slope * (log_distance - jnp.log(site.fn.base_dist.scale) - log_h)


def _information_of_loc(base: Any) -> Any:
    """The Fisher information of loc at scale 1."""
    if isinstance(base, dist.StudentT):
        return (base.df + 1) / (base.df + 3)
    return {dist.Cauchy: 1 / 2, dist.SoftLaplace: 1 / 2, dist.Logistic: 1 / 3}.get(type(base), 1.0)
