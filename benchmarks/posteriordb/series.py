"""Time series: autoregression, volatility, a hidden Markov chain, and predators with their prey."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.posteriordb.densities import cauchy, floats, lognormal, normal
from benchmarks.posteriordb.model import ConstrainedModel
from benchmarks.posteriordb.transforms import Values, bounded, positive, positive_ordered, real, simplex
from mongepatch._typing import Scalar

SUBSTEPS = 20
"""Runge–Kutta steps between two observations of lynx and hare."""


def ark(data: Mapping[str, Any]) -> ConstrainedModel:
    """Autoregression of order K; α, β ~ N(0, 10²), σ ~ Cauchy⁺(2.5). The first K observations are given."""
    order, series = int(data["K"]), np.asarray(data["y"], float)
    y = floats(series[order:])
    lagged = floats(np.stack([series[order - lag : len(series) - lag] for lag in range(1, order + 1)], axis=1))

    def logdensity(values: Values) -> Scalar:
        alpha, beta, sigma = values["alpha"], values["beta"], values["sigma"]
        prior = normal(alpha, 0.0, 10.0) + normal(beta, 0.0, 10.0) + cauchy(sigma, 2.5)
        return normal(y, alpha + lagged @ beta, sigma) + prior

    return ConstrainedModel({"alpha": real(), "beta": real(order), "sigma": positive()}, logdensity)


def garch11(data: Mapping[str, Any]) -> ConstrainedModel:
    """yₜ ~ N(μ, σₜ²), σₜ² = α₀ + α₁ (yₜ₋₁ - μ)² + β₁ σₜ₋₁²; flat where α₀ > 0, α₁, β₁ > 0 and α₁ + β₁ < 1."""
    y, first = floats(data["y"]), floats(data["sigma1"])

    def logdensity(values: Values) -> Scalar:
        shocks = (y - values["mu"]) ** 2

        def following(variance: jax.Array, shock: jax.Array) -> tuple[jax.Array, jax.Array]:
            return values["alpha0"] + values["alpha1"] * shock + values["beta1"] * variance, variance

        variances = jax.lax.scan(following, first**2, shocks)[1]
        return -0.5 * jnp.sum(shocks / variances + jnp.log(variances))

    parameters = {
        "mu": real(),
        "alpha0": positive(),
        "alpha1": bounded(0.0, 1.0),
        "beta1": bounded(0.0, lambda before: 1.0 - before["alpha1"]),
    }
    return ConstrainedModel(parameters, logdensity)


def hmm_example(data: Mapping[str, Any]) -> ConstrainedModel:
    """Two hidden states that emit yₜ ~ N(μ_state, 1), summed over by the forward algorithm.

    μ₁ ~ N(3, 1), μ₂ ~ N(10, 1), 0 < μ₁ < μ₂; rows of the transition matrix are uniform on the simplex. The first
    state has weight 1 whichever it is.
    """
    y, centres = floats(data["y"]), floats([3.0, 10.0])

    def logdensity(values: Values) -> Scalar:
        mu = values["mu"]
        log_transition = jnp.log(jnp.stack([values["theta1"], values["theta2"]]))
        emissions = -0.5 * (y[:, None] - mu) ** 2

        def forward(weights: jax.Array, emission: jax.Array) -> tuple[jax.Array, None]:
            return jax.nn.logsumexp(weights[:, None] + log_transition, axis=0) + emission, None

        weights, _ = jax.lax.scan(forward, emissions[0], emissions[1:])
        return jax.nn.logsumexp(weights) + normal(mu, centres, 1.0)

    return ConstrainedModel({"theta1": simplex(2), "theta2": simplex(2), "mu": positive_ordered(2)}, logdensity)


def lotka_volterra(data: Mapping[str, Any]) -> ConstrainedModel:
    """Hares u and lynxes v: u̇ = (θ₁ - θ₂ v) u, v̇ = (θ₄ u - θ₃) v, seen with lognormal errors.

    θ₁, θ₃ ~ N⁺(1, ½²), θ₂, θ₄ ~ N⁺(0.05, 0.05²), z₀ ~ LogNormal(log 10, 1), σ ~ LogNormal(-1, 1).
    """
    y, y_init = floats(data["y"]), floats(data["y_init"])
    steps = floats(np.diff(np.asarray(data["ts"], float), prepend=0.0) / SUBSTEPS)
    centres, spreads = floats([1.0, 0.05, 1.0, 0.05]), floats([0.5, 0.05, 0.5, 0.05])

    def logdensity(values: Values) -> Scalar:
        theta, sigma, log_init = values["theta"], values["sigma"], jnp.log(values["z_init"])

        def velocity(log_z: jax.Array) -> jax.Array:
            hares, lynxes = jnp.exp(log_z)
            return jnp.stack([theta[0] - theta[1] * lynxes, theta[3] * hares - theta[2]])

        # The logarithm is integrated: no step can make it negative, and it is what the errors are of.
        def until(log_z: jax.Array, h: jax.Array) -> tuple[jax.Array, jax.Array]:
            def step(at: jax.Array, _: None) -> tuple[jax.Array, None]:
                a = velocity(at)
                b = velocity(at + 0.5 * h * a)
                c = velocity(at + 0.5 * h * b)
                d = velocity(at + h * c)
                return at + h / 6.0 * (a + 2.0 * b + 2.0 * c + d), None

            later, _ = jax.lax.scan(step, log_z, None, length=SUBSTEPS)
            return later, later

        log_z = jax.lax.scan(until, log_init, steps)[1]
        likelihood = lognormal(y_init, log_init, sigma) + lognormal(y, log_z, sigma)
        prior = normal(theta, centres, spreads) + lognormal(sigma, -1.0, 1.0)
        return likelihood + prior + lognormal(values["z_init"], jnp.log(10.0), 1.0)

    return ConstrainedModel({"theta": positive(4), "z_init": positive(2), "sigma": positive(2)}, logdensity)
