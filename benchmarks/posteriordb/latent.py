"""Models with latent quantities: groups, a Gaussian process, and a mixture."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.posteriordb.densities import cauchy, floats, normal
from benchmarks.posteriordb.model import ConstrainedModel
from benchmarks.posteriordb.transforms import Values, bounded, ordered, positive, real
from mongepatch._typing import Matrix, Scalar
from mongepatch.errors import SettingError

JITTER = 1e-10
"""Added to the diagonal of the Gaussian process's covariance: part of the model's definition."""


def eight_schools_noncentered(data: Mapping[str, Any]) -> ConstrainedModel:
    """Effects of coaching: yⱼ ~ N(θⱼ, σⱼ²), θ = μ + τ θ̃; θ̃ ~ N(0, 1), μ ~ N(0, 5²), τ ~ Cauchy⁺(5)."""
    y, sigma = floats(data["y"]), floats(data["sigma"])

    def effects(values: Values) -> jax.Array:
        return values["mu"] + values["tau"] * values["theta_trans"]

    def logdensity(values: Values) -> Scalar:
        prior = normal(values["theta_trans"], 0.0, 1.0) + normal(values["mu"], 0.0, 5.0) + cauchy(values["tau"], 5.0)
        return normal(y, effects(values), sigma) + prior

    def report(values: Values) -> Values:
        return {"theta": effects(values), "mu": values["mu"], "tau": values["tau"]}

    def recover(reported: Values) -> Values:
        mu, tau = reported["mu"], reported["tau"]
        return {"theta_trans": (reported["theta"] - mu) / tau, "mu": mu, "tau": tau}

    parameters = {"theta_trans": real(y.size), "mu": real(), "tau": positive()}
    return ConstrainedModel(parameters, logdensity, report, recover)


def gp_pois_regr(data: Mapping[str, Any]) -> ConstrainedModel:
    """Counts kᵢ ~ Poisson(exp fᵢ), f = L f̃ a Gaussian process with covariance α² exp(-½ (xᵢ - xⱼ)² / ρ²).

    f̃ ~ N(0, 1), ρ ~ Gamma(25, 4), α ~ N⁺(0, 2²).
    """
    if jnp.result_type(float) != jnp.float64:
        raise SettingError(
            "gp_pois_regr factorises a matrix that is singular in single precision: "
            'call jax.config.update("jax_enable_x64", True) first.'
        )
    x, counts = floats(data["x"]), floats(data["k"])
    squares = (x[:, None] - x) ** 2

    def factor(values: Values) -> Matrix:
        covariance = values["alpha"] ** 2 * jnp.exp(-0.5 * squares / values["rho"] ** 2)
        return jnp.linalg.cholesky(covariance + JITTER * jnp.eye(x.size))

    def logdensity(values: Values) -> Scalar:
        rho, f = values["rho"], factor(values) @ values["f_tilde"]
        likelihood = counts @ f - jnp.sum(jnp.exp(f))
        prior = 24.0 * jnp.log(rho) - 4.0 * rho + normal(values["alpha"], 0.0, 2.0)
        return likelihood + prior + normal(values["f_tilde"], 0.0, 1.0)

    def report(values: Values) -> Values:
        return {"rho": values["rho"], "alpha": values["alpha"], "f": factor(values) @ values["f_tilde"]}

    def recover(reported: Values) -> Values:
        f_tilde = jax.scipy.linalg.solve_triangular(factor(reported), reported["f"], lower=True)
        return {"rho": reported["rho"], "alpha": reported["alpha"], "f_tilde": f_tilde}

    return ConstrainedModel(
        {"rho": positive(), "alpha": positive(), "f_tilde": real(x.size)}, logdensity, report, recover
    )


def low_dim_gauss_mix(data: Mapping[str, Any]) -> ConstrainedModel:
    """A mixture of two normals: y ~ θ N(μ₁, σ₁²) + (1 - θ) N(μ₂, σ₂²).

    μ ~ N(0, 2²) with μ₁ < μ₂, σ ~ N⁺(0, 2²), θ ~ Beta(5, 5).
    """
    y = floats(data["y"])

    def logdensity(values: Values) -> Scalar:
        mu, sigma, theta = values["mu"], values["sigma"], values["theta"]
        log_weights = jnp.stack([jnp.log(theta), jnp.log1p(-theta)])
        components = log_weights - jnp.log(sigma) - 0.5 * ((y[:, None] - mu) / sigma) ** 2
        prior = normal(mu, 0.0, 2.0) + normal(sigma, 0.0, 2.0) + 4.0 * jnp.sum(log_weights)
        return jnp.sum(jax.nn.logsumexp(components, axis=1)) + prior

    return ConstrainedModel({"mu": ordered(2), "sigma": positive(2), "theta": bounded(0.0, 1.0)}, logdensity)
