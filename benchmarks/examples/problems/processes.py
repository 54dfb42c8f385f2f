"""Gaussian processes: scales of a kernel, and an approximation by basis functions."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems import NumpyroProblem

JITTER = 1e-6
BOUNDARY, FUNCTIONS = 1.5, 20
"""The basis functions vanish at ± this multiple of the largest |x|; and their number."""


def gp(x: np.ndarray, y: np.ndarray) -> None:
    """Variance, length and noise of a squared exponential kernel, with wide priors as in the example."""
    variance, noise, length = (numpyro.sample(name, dist.LogNormal(0, 10)) for name in ("variance", "noise", "length"))
    kernel = variance * jnp.exp(-0.5 * ((x[:, None] - x) / length) ** 2) + (noise + JITTER) * jnp.eye(len(x))
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(len(x)), kernel), obs=y)


def hsgp(basis: np.ndarray, frequencies: np.ndarray, y: np.ndarray) -> None:
    """A trend as a sum of basis functions, weighted by the spectral density of the kernel and non-centred."""
    intercept, alpha = numpyro.sample("intercept", dist.Normal(0, 1)), numpyro.sample("alpha", dist.HalfNormal(1))
    length = numpyro.sample("length", dist.InverseGamma(10, 2))
    # The root of the spectral density; of the exponential first, which may underflow.
    weights = jnp.sqrt(alpha * jnp.sqrt(2 * jnp.pi) * length) * jnp.exp(-0.25 * (length * frequencies) ** 2)
    with numpyro.plate("basis", len(frequencies)):
        beta = numpyro.sample("beta", dist.Normal(0, 1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(0.5))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(intercept + basis @ (weights * beta), sigma), obs=y)


def problems() -> list[NumpyroProblem]:
    """25 observations of a curve, and 150 of another."""
    return [
        NumpyroProblem("gp", gp, _curve(), scales=("variance", "noise", "length")),
        NumpyroProblem("hsgp", hsgp, _trend(), scales=("alpha", "length", "sigma"), others=("intercept", "beta")),
    ]


def _curve() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(60)
    x = np.linspace(-1.0, 1.0, 25)
    y = x + 0.2 * x**3 + 0.5 * (0.5 + x) ** 2 * np.sin(4 * x) + 0.15 * rng.normal(size=25)
    return x, (y - y.mean()) / y.std()


def _trend() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(61)
    x = np.linspace(-1.7, 1.7, 150)
    limit = BOUNDARY * x.max()
    frequencies = np.arange(1, FUNCTIONS + 1) * np.pi / (2 * limit)
    basis = np.sin(frequencies * (x[:, None] + limit)) / np.sqrt(limit)
    return basis, frequencies, np.sin(3 * x) + 0.5 * x + 0.3 * rng.normal(size=150)
