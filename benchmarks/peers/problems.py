"""Easy and hard problems that every peer can be given: models in NumPyro, and the same in PyMC."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.examples.problems import volatility
from benchmarks.patches.problems import NumpyroProblem, funnels, groups, schools
from benchmarks.patches.problems.regular import logistic
from mongepatch import datasets
from mongepatch.targets.truth import Normal

CORRELATION, DIMENSION = 0.99, 100
"""Of neighbours in the correlated normal, whose covariance has a condition number of about 20,000."""


def peer_problems() -> Mapping[str, Callable[[], NumpyroProblem]]:
    """By name, a function that makes the problem; its truth comes from its first form."""
    regressions = {name: partial(regression, name) for name in ("heart", "german", "australian")}
    return {
        **regressions,
        "normal-100": correlated_normal,
        "neal-9": partial(_named, "neal-9", funnels.problems),
        "schools": partial(_named, "schools", schools.problems),
        "groups-uneven": partial(_named, "groups-uneven", groups.problems),
        "groups-100": partial(_named, "groups-100", groups.problems),
        "random-walk": random_walk,
    }


def regression(name: str) -> NumpyroProblem:
    """One of the paper's regressions."""
    data = datasets.load(name)
    forms = {"as written": logistic}
    return NumpyroProblem(name, logistic, (data.design, data.outcomes), others=("beta",), forms=forms)


def normal(scale_tril: np.ndarray) -> None:
    """A normal distribution."""
    numpyro.sample("x", dist.MultivariateNormal(0, scale_tril=scale_tril))


def correlated_normal() -> NumpyroProblem:
    """Covariances ρ^|i − j|: all variances are 1, and neighbours are nearly equal."""
    places = np.arange(DIMENSION)
    scale_tril = np.linalg.cholesky(CORRELATION ** np.abs(places[:, None] - places))
    exact = {"x": Normal(0.0, 1.0)}
    return NumpyroProblem(f"normal-{DIMENSION}", normal, (scale_tril,), others=("x",), exact=exact)


def non_centred_walk(y: np.ndarray) -> None:
    """The random walk in units of its scale."""
    s, o = numpyro.sample("s", dist.HalfNormal(1)), numpyro.sample("o", dist.HalfNormal(1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([len(y)]).to_event(1))
    f = numpyro.deterministic("f", s * z.cumsum())
    numpyro.sample("y", dist.Normal(f, o).to_event(1), obs=y)


def random_walk() -> NumpyroProblem:
    """200 values with noise, centred."""
    return replace(_named("random-walk", volatility.problems), forms={"non-centred": non_centred_walk})


def _named(name: str, family: Callable[[], list[NumpyroProblem]]) -> NumpyroProblem:
    return next(problem for problem in family() if problem.name == name)
