"""Time series that are observed directly: AR(2), VAR(2), and exponential smoothing of Holt and Winters."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.contrib.control_flow import scan

from benchmarks.patches.problems import NumpyroProblem

SEASONS = 10


def ar2(y: np.ndarray) -> None:
    """An autoregression of order 2, one step of a scan at a time."""
    alpha = numpyro.sample("alpha", dist.Normal(0, 1).expand([2]).to_event(1))
    constant, sigma = numpyro.sample("constant", dist.Normal(0, 1)), numpyro.sample("sigma", dist.HalfNormal(1))

    def step(before: tuple[jnp.ndarray, jnp.ndarray], _: None) -> tuple[tuple[jnp.ndarray, jnp.ndarray], None]:
        mean = constant + alpha[0] * before[0] + alpha[1] * before[1]
        return (numpyro.sample("y", dist.Normal(mean, sigma)), before[0]), None

    with numpyro.handlers.condition(data={"y": jnp.asarray(y[2:])}):
        scan(step, (y[1], y[0]), None, length=len(y) - 2)


def var2(y: np.ndarray) -> None:
    """An autoregression of order 2 of several variables with correlated noise."""
    number = y.shape[1]
    constant = numpyro.sample("constant", dist.Normal(0, 1).expand([number]).to_event(1))
    first, second = (
        numpyro.sample(name, dist.Normal(0, 1).expand([number, number]).to_event(2)) for name in ("first", "second")
    )
    sigma = numpyro.sample("sigma", dist.HalfNormal(1).expand([number]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(number, 1.0))
    numpyro.deterministic("rho", factor[1, 0])
    root = sigma[:, None] * factor

    def step(before: tuple[jnp.ndarray, jnp.ndarray], _: None) -> tuple[tuple[jnp.ndarray, jnp.ndarray], None]:
        mean = constant + first @ before[0] + second @ before[1]
        return (numpyro.sample("y", dist.MultivariateNormal(mean, scale_tril=root)), before[0]), None

    with numpyro.handlers.condition(data={"y": jnp.asarray(y[2:])}):
        scan(step, (y[1], y[0]), None, length=len(y) - 2)


def holt_winters(y: np.ndarray) -> None:
    """A level, a trend and seasons, each smoothed exponentially."""
    level_smoothing = numpyro.sample("level_smoothing", dist.Beta(1, 1))
    trend_smoothing = numpyro.sample("trend_smoothing", dist.Beta(1, 1))
    season_smoothing = numpyro.sample("season_smoothing", dist.Beta(1, 1)) * (1 - level_smoothing)
    noise = numpyro.sample("noise", dist.HalfNormal(1))
    level, trend = numpyro.sample("level", dist.Normal(0, 1)), numpyro.sample("trend", dist.Normal(0, 1))
    with numpyro.plate("season", SEASONS):
        seasons = numpyro.sample("seasons", dist.Normal(0, 1))

    def step(
        before: tuple[jnp.ndarray, jnp.ndarray, jnp.ndarray], seen: jnp.ndarray
    ) -> tuple[tuple[jnp.ndarray, jnp.ndarray, jnp.ndarray], None]:
        level, trend, seasons = before
        expected = level + trend
        numpyro.sample("y", dist.Normal(expected + seasons[0], noise), obs=seen)
        new_level = level_smoothing * (seen - seasons[0]) + (1 - level_smoothing) * expected
        new_trend = trend_smoothing * (new_level - level) + (1 - trend_smoothing) * trend
        season = season_smoothing * (seen - expected) + (1 - season_smoothing) * seasons[0]
        return (new_level, new_trend, jnp.append(seasons[1:], season)), None

    scan(step, (level, trend, seasons), jnp.asarray(y))


def problems() -> list[NumpyroProblem]:
    """142 values of a sine, 100 of two variables, and six periods of ten seasons."""
    return [
        NumpyroProblem("ar2", ar2, _sine(), scales=("sigma",), others=("alpha", "constant")),
        NumpyroProblem("var2", var2, _pair(), scales=("sigma",), others=("constant", "first", "second", "rho")),
        NumpyroProblem(
            "holt-winters",
            holt_winters,
            _seasonal(),
            scales=("noise",),
            others=("level_smoothing", "trend_smoothing", "season_smoothing", "level", "trend", "seasons"),
        ),
    ]


def _sine() -> tuple[np.ndarray]:
    rng = np.random.default_rng(40)
    return (np.sin(np.arange(142)) + 0.1 * rng.normal(size=142),)


def _pair() -> tuple[np.ndarray]:
    rng = np.random.default_rng(41)
    noise = rng.multivariate_normal([0.0, 0.0], [[0.1, 0.02], [0.02, 0.1]], size=100)
    first, second = np.array([[0.7, 0.1], [0.2, 0.5]]), np.array([[0.2, -0.1], [-0.1, 0.2]])
    y = noise.copy()
    for t in range(2, len(y)):
        y[t] += np.array([0.5, -0.3]) + first @ y[t - 1] + second @ y[t - 2]
    return (y,)


def _seasonal() -> tuple[np.ndarray]:
    rng = np.random.default_rng(42)
    t = np.arange(6 * SEASONS) / SEASONS
    return (np.sin(2 * np.pi * t) + 0.3 * t + 0.1 * rng.normal(size=t.shape),)
