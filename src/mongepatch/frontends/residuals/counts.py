"""Counts and categories: variance-stabilizing transforms of the mean.

Their JᵀJ is the Fisher information. They depend on the parameters alone, not on the counts.
"""

import math

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from mongepatch.frontends.residuals.registry import register_residual
from mongepatch.frontends.residuals.site import TINY, Residual, ResidualArray, Site


def arcsine_transform(logit: jax.Array) -> jax.Array:
    """2·arcsin√p = 2·arctan e^{η/2} of log-odds η, without overflow; its derivative is √(p(1 − p))."""
    return math.pi / 2 + 2 * jnp.arctan(jnp.tanh(logit / 4))


@register_residual(dist.BernoulliLogits, dist.BernoulliProbs, formula="2·arctan e^{η/2}, η the log-odds")
def bernoulli(site: Site) -> Residual:
    """The information of η is p(1 − p)."""
    return arcsine_transform(site.fn.logits)


@register_residual(dist.BinomialLogits, dist.BinomialProbs, formula="√n·2·arctan e^{η/2}, η the log-odds")
def binomial(site: Site) -> Residual:
    """The information of η is n·p(1 − p)."""
    return jnp.sqrt(site.fn.total_count) * arcsine_transform(site.fn.logits)


@register_residual(dist.Poisson, formula="2√rate")
def poisson(site: Site) -> Residual:
    """The information of the rate is 1/rate."""
    return 2 * _safe_sqrt(site.fn.rate)


@register_residual(dist.GammaPoisson, formula="2√k·asinh√(mean/k), k the concentration, and ½·log(1 + mean/k)")
def negative_binomial(site: Site) -> Residual:
    """The information of the mean is 1/(mean + mean²/k). The second is for k; its slope in log k is −½ if mean ≫ k."""
    k, rate = jnp.asarray(site.fn.concentration), site.fn.rate
    return [2 * jnp.sqrt(k) * jnp.arcsinh(1 / jnp.sqrt(rate)), 0.5 * jnp.log1p(1 / rate)]


@register_residual(dist.BetaBinomial, formula="√(n(c + 1)/(c + n))·2·arctan√(a/b), c = a + b, and ½√(1 − 1/n)·log c")
def beta_binomial(site: Site) -> Residual:
    """A binomial with the number of trials that gives the same variance. The second is for c, and 0 if n = 1."""
    a, b, n = site.fn.concentration1, site.fn.concentration0, jnp.maximum(site.fn.total_count, 1)
    trials = n * (a + b + 1) / (a + b + n)
    return [jnp.sqrt(trials) * arcsine_transform(jnp.log(a) - jnp.log(b)), 0.5 * jnp.sqrt(1 - 1 / n) * jnp.log(a + b)]


@register_residual(dist.GeometricLogits, dist.GeometricProbs, formula="−2·artanh√(1 − p)")
def geometric(site: Site) -> Residual:
    """The information of the log-odds is 1 − p; written as log p − 2·log(1 + √(1 − p))."""
    logits = site.fn.logits
    return jax.nn.log_sigmoid(logits) - 2 * jnp.log1p(jnp.exp(0.5 * jax.nn.log_sigmoid(-logits)))


@register_residual(dist.CategoricalLogits, formula="2√pᵢ of every category")
def categorical_logits(site: Site) -> Residual:
    """Σ (d 2√pᵢ)² = Σ dpᵢ²/pᵢ, the information."""
    return ResidualArray(2 * jnp.exp(0.5 * jax.nn.log_softmax(site.fn.logits)), 1)


@register_residual(dist.CategoricalProbs, formula="2√pᵢ of every category")
def categorical_probs(site: Site) -> Residual:
    """As with logits. Ordered categories are of this class too."""
    return ResidualArray(2 * _safe_sqrt(site.fn.probs), 1)


@register_residual(dist.MultinomialLogits, formula="√n·2√pᵢ of every category")
def multinomial_logits(site: Site) -> Residual:
    """The information is n times that of one trial."""
    return 2 * jnp.exp(0.5 * jax.nn.log_softmax(site.fn.logits)) * _safe_sqrt(site.fn.total_count)[..., None]


@register_residual(dist.MultinomialProbs, formula="√n·2√pᵢ of every category")
def multinomial_probs(site: Site) -> Residual:
    """As with logits."""
    return 2 * _safe_sqrt(site.fn.probs) * _safe_sqrt(site.fn.total_count)[..., None]


def _safe_sqrt(value: jax.Array) -> jax.Array:
    """A square root whose derivative is finite at 0."""
    return jnp.sqrt(jnp.maximum(jnp.asarray(value, float), TINY))
