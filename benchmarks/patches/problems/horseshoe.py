"""Logistic regressions with a horseshoe prior, regularised by a slab (Piironen and Vehtari 2017).

β_j ~ N(0, τ² λ̃_j²) with λ̃² = c²λ²/(c² + τ²λ²), λ_j ~ Cauchy⁺(1), τ ~ Cauchy⁺(τ₀), c fixed.
"""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems.base import NumpyroProblem

SLAB, GLOBAL = 2.0, 0.1
"""c and τ₀."""
SIGNALS = (2.0, -1.5, 1.0)
"""The coefficients that are not 0."""


def _scales(features: int) -> jnp.ndarray:
    tau = numpyro.sample("tau", dist.HalfCauchy(GLOBAL))
    with numpyro.plate("feature", features):
        lam = numpyro.sample("lam", dist.HalfCauchy(1))
    return tau * lam * SLAB / jnp.sqrt(SLAB**2 + (tau * lam) ** 2)


def _observe(beta: jnp.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    intercept = numpyro.sample("intercept", dist.Normal(0, 2))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Bernoulli(logits=intercept + X @ beta), obs=y)


def centred(X: np.ndarray, y: np.ndarray) -> None:
    """Coefficients centred."""
    scales = _scales(X.shape[1])
    with numpyro.plate("feature", X.shape[1]):
        beta = numpyro.sample("beta", dist.Normal(0, scales))
    _observe(beta, X, y)


def non_centred(X: np.ndarray, y: np.ndarray) -> None:
    """Coefficients in units of their scales."""
    scales = _scales(X.shape[1])
    with numpyro.plate("feature", X.shape[1]):
        z = numpyro.sample("z", dist.Normal(0, 1))
        beta = numpyro.deterministic("beta", scales * z)
    _observe(beta, X, y)


def problems() -> list[NumpyroProblem]:
    """20 features and 100 observations; 100 and 200."""
    return [
        NumpyroProblem(
            f"horseshoe-{features}",
            centred,
            _data(features, observations),
            scales=("tau", "lam"),
            others=("intercept", "beta"),
            forms={"non-centred": non_centred},
        )
        for features, observations in ((20, 100), (100, 200))
    ]


def _data(features: int, observations: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(observations, features))
    logits = X[:, : len(SIGNALS)] @ np.array(SIGNALS)
    return X, (rng.random(observations) < 1.0 / (1.0 + np.exp(-logits))).astype(int)
