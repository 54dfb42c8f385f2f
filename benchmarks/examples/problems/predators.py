"""Predators and prey: parameters of the equations of Lotka and Volterra, from populations in twenty years."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.experimental.ode import odeint

from benchmarks.patches.problems import NumpyroProblem

YEARS = 20
PRIOR = np.array([0.5, 0.05, 1.5, 0.05])
"""Means of the rates: births of prey, its deaths by predators, deaths of predators, their births by prey."""


def growth(log_populations: jnp.ndarray, _: jnp.ndarray, rates: jnp.ndarray) -> jnp.ndarray:
    """The equations of Lotka and Volterra in logarithms, in which no error of rounding makes a population negative."""
    prey, predators = jnp.exp(log_populations)
    return jnp.stack([rates[0] - rates[1] * predators, rates[3] * prey - rates[2]])


def log_populations(initial: jnp.ndarray, rates: jnp.ndarray) -> jnp.ndarray:
    """Logarithms of both populations in each year."""
    years = jnp.arange(float(YEARS))
    return odeint(growth, jnp.log(initial), years, rates, rtol=1e-6, atol=1e-6, mxstep=1000)


def lotka_volterra(y: np.ndarray) -> None:
    """Populations with log-normal noise; `y` is the logarithms of what was counted."""
    initial = numpyro.sample("initial", dist.LogNormal(jnp.log(10.0), 1).expand([2]).to_event(1))
    spread = np.array([0.5, 0.05, 0.5, 0.05])
    rates = numpyro.sample("rates", dist.TruncatedNormal(PRIOR, spread, low=0.0).to_event(1))
    sigma = numpyro.sample("sigma", dist.LogNormal(-1, 1).expand([2]).to_event(1))
    numpyro.sample("y", dist.Normal(log_populations(initial, rates), sigma).to_event(2), obs=y)


def problems() -> list[NumpyroProblem]:
    """20 years of two species."""
    rng = np.random.default_rng(100)
    y = _true_log_populations() + 0.25 * rng.normal(size=(YEARS, 2))
    return [NumpyroProblem("lotka-volterra", lotka_volterra, (y,), scales=("sigma",), others=("initial", "rates"))]


def _true_log_populations(steps: int = 1000) -> np.ndarray:
    """By small steps in NumPy, so that nothing is compiled for data."""
    rates, now = np.array([0.55, 0.028, 0.8, 0.024]), np.log([33.0, 6.0])
    seen = [now]
    for _ in range(YEARS - 1):
        for _ in range(steps):
            prey, predators = np.exp(now)
            now = now + np.array([rates[0] - rates[1] * predators, rates[3] * prey - rates[2]]) / steps
        seen.append(now)
    return np.array(seen)
