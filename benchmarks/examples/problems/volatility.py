"""Random walks that are observed with noise: a walk itself, and the volatility of returns."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems import NumpyroProblem


def stochastic_volatility(returns: np.ndarray) -> None:
    """Returns with heavy tails, whose log scale is a random walk, centred as in the example."""
    sigma = numpyro.sample("sigma", dist.Exponential(50))
    s = numpyro.sample("s", dist.GaussianRandomWalk(sigma, len(returns)))
    nu = numpyro.sample("nu", dist.Exponential(0.1))
    numpyro.sample("returns", dist.StudentT(nu, 0, jnp.exp(s)).to_event(1), obs=returns)


def random_walk(y: np.ndarray) -> None:
    """A random walk with normal noise, both scales unknown, centred."""
    s, o = numpyro.sample("s", dist.HalfNormal(1)), numpyro.sample("o", dist.HalfNormal(1))
    f = numpyro.sample("f", dist.GaussianRandomWalk(s, len(y)))
    numpyro.sample("y", dist.Normal(f, o).to_event(1), obs=y)


def problems() -> list[NumpyroProblem]:
    """200 values of each."""
    rng = np.random.default_rng(50)
    log_scale = np.cumsum(rng.normal(0.0, 0.1, size=200))
    returns = np.exp(log_scale) * rng.standard_t(10, size=200)
    walk = np.cumsum(rng.normal(0.0, 0.1, size=200)) + rng.normal(0.0, 0.5, size=200)
    return [
        NumpyroProblem(
            "stochastic-volatility", stochastic_volatility, (returns,), scales=("sigma", "nu"), others=("s",)
        ),
        NumpyroProblem("random-walk", random_walk, (walk,), scales=("s", "o"), others=("f",)),
    ]
