"""Variables between two bounds, on a simplex, and correlations.

Residuals are linear in log-odds, the unconstrained coordinates of such variables.
"""

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from mongepatch.frontends.residuals.registry import register_residual
from mongepatch.frontends.residuals.site import TINY, Residual, ResidualArray, Site


@register_residual(dist.Beta, formula="√(ab/(a + b + 1))·(logit x − log(a/b))", of_data="½·log(a + b)")
def beta(site: Site) -> Residual:
    """The information of the log-odds is (a + b) E x(1 − x) = ab/(a + b + 1), and so is JᵀJ in logit x."""
    a, b = site.fn.concentration1, site.fn.concentration0
    residual = jnp.sqrt(a * b / (a + b + 1)) * (site.logit - jnp.log(a) + jnp.log(b))
    return [residual, 0.5 * jnp.log(a + b)] if site.observed else residual


@register_residual(dist.Uniform, formula="√⅓·logit of its place between the bounds", of_data="log(high − low) instead")
def uniform(site: Site) -> Residual:
    """Beta(1, 1) of the relative place between the bounds. Data informs the bounds alone: they are no further apart."""
    width = site.fn.high - site.fn.low
    if site.observed:
        return jnp.log(width)
    return site._replace(value=(site.value - site.fn.low) / width).logit / 3**0.5


@register_residual(
    dist.TwoSidedTruncatedDistribution,
    formula="(x − loc)/scale, and √⅓·logit of its place between the bounds",
    of_data="log scale in place of the second",
)
def truncated(site: Site) -> Residual:
    """The first residual is bounded, and flat in log-odds near the bounds; the second has a slope there."""
    fn = site.fn
    z = (site.value - fn.base_dist.loc) / fn.base_dist.scale
    if site.observed:
        return [z, jnp.log(fn.base_dist.scale)]
    return [z, site._replace(value=(site.value - fn.low) / (fn.high - fn.low)).logit / 3**0.5]


@register_residual(dist.Dirichlet, formula="√aᵢ·log(xᵢ·a₀/aᵢ), a₀ = Σ aᵢ")
def dirichlet(site: Site) -> Residual:
    """At the mean JᵀJ is a₀(diag p − ppᵀ) in logits of x, the information of its density."""
    a = site.fn.concentration
    logs = jnp.log(jnp.maximum(site.value, TINY)) if site.raw is None else _log_simplex(site.raw)
    return jnp.sqrt(a) * (logs + jnp.log(a.sum(-1, keepdims=True)) - jnp.log(a))


@register_residual(dist.LKJCholesky, dist.LKJ, formula="2b/√(2b + 1)·artanh of each partial correlation, b its Beta's")
def correlations(site: Site) -> Residual:
    """Partial correlations of column j are 2·Beta(b, b) − 1 with b = concentration + (D − 1 − j)/2."""
    if site.raw is None:
        return []  # data: the only parameter is the concentration
    _, column = jnp.tril_indices(site.fn.dimension - 1)
    b = jnp.expand_dims(site.fn.concentration, -1) + (site.fn.dimension - 2 - column) / 2
    return ResidualArray(2 * b / jnp.sqrt(2 * b + 1) * site.raw, 1)


def _log_simplex(raw: jax.Array) -> jax.Array:
    """Log x from stick-breaking coordinates: finite also where x itself would round to 0."""
    odds = raw - jnp.log(jnp.arange(raw.shape[-1], 0, -1))
    ends = jnp.zeros_like(odds[..., :1])
    broken = jnp.concatenate([jax.nn.log_sigmoid(odds), ends], axis=-1)
    left = jnp.concatenate([ends, jnp.cumsum(jax.nn.log_sigmoid(-odds), axis=-1)], axis=-1)
    return broken + left
