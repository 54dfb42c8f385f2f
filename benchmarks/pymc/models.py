"""Problems of the benchmarks, written in PyMC as well. Variables have the names of the NumPyro models' sites."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mongepatch._extras import require


def pymc_models() -> Mapping[str, Callable[..., Any]]:
    """By name of a problem, a function of its data that returns a PyMC model, centred as the NumPyro model is."""
    regressions = dict.fromkeys(("heart", "german", "australian"), logistic)
    return {
        **regressions,
        "neal-9": funnel,
        "schools": schools,
        "groups-uneven": uneven_groups,
        "groups-100": groups,
        "normal-100": normal,
        "random-walk": random_walk,
    }


def logistic(X: np.ndarray, y: np.ndarray) -> Any:
    """The paper's regression."""
    pm = _pymc()
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 10, shape=X.shape[1])
        pm.Bernoulli("y", logit_p=X @ beta, observed=y)
    return model


def funnel(dimension: int) -> Any:
    """Neal's."""
    pm = _pymc()
    with pm.Model() as model:
        v = pm.Normal("v", 0, 3)
        pm.Normal("x", 0, pm.math.exp(v / 2), shape=dimension)
    return model


def schools(errors: np.ndarray, y: np.ndarray) -> Any:
    """Eight schools."""
    pm = _pymc()
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=len(y))
        pm.Normal("y", theta, errors, observed=y)
    return model


def groups(group: np.ndarray, y: np.ndarray) -> Any:
    """Groups with intercepts of their own, both scales unknown."""
    return _groups(group, y, None)


def uneven_groups(group: np.ndarray, y: np.ndarray) -> Any:
    """The same with σ = 1."""
    return _groups(group, y, 1.0)


def normal(scale_tril: np.ndarray) -> Any:
    """A correlated normal."""
    pm = _pymc()
    with pm.Model() as model:
        pm.MvNormal("x", np.zeros(len(scale_tril)), chol=scale_tril, shape=len(scale_tril))
    return model


def random_walk(y: np.ndarray) -> Any:
    """A random walk with normal noise, both scales unknown."""
    pm = _pymc()
    with pm.Model() as model:
        s, o = pm.HalfNormal("s", 1), pm.HalfNormal("o", 1)
        f = pm.GaussianRandomWalk("f", sigma=s, init_dist=pm.Normal.dist(0, s), steps=len(y) - 1)
        pm.Normal("y", f, o, observed=y)
    return model


def _groups(group: np.ndarray, y: np.ndarray, noise: float | None) -> Any:
    pm = _pymc()
    with pm.Model(coords={"group": range(int(group.max()) + 1), "observation": range(len(y))}) as model:
        mu, tau = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1)
        sigma = pm.HalfNormal("sigma", 1) if noise is None else noise
        theta = pm.Normal("theta", mu, tau, dims="group")
        pm.Normal("y", theta[group], sigma, observed=y, dims="observation")
    return model


def _pymc() -> Any:
    return require("pymc", "pymc", "This benchmark")
