"""Stochastic volatility: y_t ~ N(0, exp(μ + h_t)), h a random walk with steps N(0, σ²)."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems.base import NumpyroProblem

LENGTH = 100


def _observe(mu: jnp.ndarray, h: jnp.ndarray, y: np.ndarray) -> None:
    with numpyro.plate("time", len(y)):
        numpyro.sample("y", dist.Normal(0, jnp.exp(0.5 * (mu + h))), obs=y)


def centred(y: np.ndarray) -> None:
    """The walk itself."""
    mu, sigma = numpyro.sample("mu", dist.Normal(0, 2)), numpyro.sample("sigma", dist.HalfNormal(0.5))
    _observe(mu, numpyro.sample("h", dist.GaussianRandomWalk(sigma, len(y))), y)


def non_centred(y: np.ndarray) -> None:
    """Steps of the walk in units of σ."""
    mu, sigma = numpyro.sample("mu", dist.Normal(0, 2)), numpyro.sample("sigma", dist.HalfNormal(0.5))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([len(y)]).to_event(1))
    _observe(mu, numpyro.deterministic("h", sigma * jnp.cumsum(z)), y)


def problems() -> list[NumpyroProblem]:
    """100 returns."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=LENGTH) * np.exp(0.5 * np.cumsum(rng.normal(0.0, 0.15, size=LENGTH)))
    forms = {"non-centred": non_centred}
    return [NumpyroProblem("volatility", centred, (y,), scales=("sigma",), others=("mu", "h"), forms=forms)]
