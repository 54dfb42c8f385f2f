"""Intercepts and slopes of groups, correlated: y ~ N(b₀ + b₁x, σ²), (b₀, b₁) ~ N(β, Σ) with Σ = diag(τ) R diag(τ)."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems.base import NumpyroProblem

GROUPS, EACH = 20, 8


def _hyperparameters() -> tuple[jnp.ndarray, jnp.ndarray, jnp.ndarray]:
    beta = numpyro.sample("beta", dist.Normal(0, 2).expand([2]).to_event(1))
    tau = numpyro.sample("tau", dist.HalfNormal(1).expand([2]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, 2.0))
    numpyro.deterministic("rho", factor[1, 0])
    return beta, numpyro.sample("sigma", dist.HalfNormal(1)), tau[:, None] * factor


def _observe(effects: jnp.ndarray, sigma: jnp.ndarray, group: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(effects[group, 0] + effects[group, 1] * x, sigma), obs=y)


def centred(group: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Effects centred."""
    beta, sigma, root = _hyperparameters()
    with numpyro.plate("group", GROUPS):
        effects = numpyro.sample("effects", dist.MultivariateNormal(beta, scale_tril=root))
    _observe(effects, sigma, group, x, y)


def non_centred(group: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Effects computed from independent normals."""
    beta, sigma, root = _hyperparameters()
    with numpyro.plate("group", GROUPS):
        z = numpyro.sample("z", dist.Normal(0, 1).expand([2]).to_event(1))
        effects = numpyro.deterministic("effects", beta + z @ root.T)
    _observe(effects, sigma, group, x, y)


def problems() -> list[NumpyroProblem]:
    """20 groups of 8 observations."""
    rng = np.random.default_rng(1)
    group, x = np.repeat(np.arange(GROUPS), EACH), rng.normal(size=GROUPS * EACH)
    effects = rng.multivariate_normal([1.0, 0.5], [[0.09, 0.015], [0.015, 0.01]], size=GROUPS)
    y = rng.normal(effects[group, 0] + effects[group, 1] * x, 1.0)
    return [
        NumpyroProblem(
            "slopes",
            centred,
            (group, x, y),
            scales=("tau", "sigma"),
            others=("rho", "beta", "effects"),
            forms={"non-centred": non_centred},
        )
    ]
