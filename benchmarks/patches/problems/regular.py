"""Models without hard geometry, of which NUTS needs nothing."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist

from mongepatch import datasets
from mongepatch.bench.patches.problems.base import Problem
from mongepatch.bench.patches.problems.folder import from_folder
from mongepatch.errors import DataError


def logistic(X: np.ndarray, y: np.ndarray) -> None:
    """The paper's regression."""
    beta = numpyro.sample("beta", dist.Normal(0, 10).expand([X.shape[1]]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=X @ beta).to_event(1), obs=y)


def kidscore(X: np.ndarray, y: np.ndarray) -> None:
    """Test scores of children on their mothers' schooling, IQ and the product, with flat priors of coefficients."""
    beta = numpyro.sample("beta", dist.ImproperUniform(dist.constraints.real_vector, (), (X.shape[1],)))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
    numpyro.sample("y", dist.Normal(X @ beta, sigma).to_event(1), obs=y)


def autoregression(lags: np.ndarray, y: np.ndarray) -> None:
    """A series on its own past."""
    alpha = numpyro.sample("alpha", dist.Normal(0, 10))
    beta = numpyro.sample("beta", dist.Normal(0, 10).expand([lags.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
    numpyro.sample("y", dist.Normal(alpha + lags @ beta, sigma).to_event(1), obs=y)


def _kidscore(data: Mapping[str, Any]) -> Problem:
    schooling, iq, y = (np.asarray(data[name], float) for name in ("mom_hs", "mom_iq", "kid_score"))
    X = np.stack([np.ones_like(iq), schooling, iq, schooling * iq], axis=1)
    return Problem("kidscore", kidscore, (X, y), scales=("sigma",), others=("beta",))


def _autoregression(data: Mapping[str, Any]) -> Problem:
    series, order = np.asarray(data["y"], float), int(data["K"])
    lags = np.stack([series[order - lag : len(series) - lag] for lag in range(1, order + 1)], axis=1)
    return Problem("arK", autoregression, (lags, series[order:]), scales=("sigma",), others=("alpha", "beta"))


FOLDERS: Mapping[str, Callable[[Mapping[str, Any]], Problem]] = {
    "kidiq-kidscore_interaction": _kidscore,
    "arK-arK": _autoregression,
}
"""What makes each problem from the data block of its Stan program, by posteriordb's name."""


def problems(folder: Path | None) -> list[Problem]:
    """Those whose data are there."""
    found = []
    try:
        heart = datasets.load("heart")
        found.append(Problem("heart", logistic, (heart.design, heart.outcomes), others=("beta",)))
    except DataError as error:
        print(f"heart is left out: {error}", file=sys.stderr)
    return found + (from_folder(folder, FOLDERS) if folder else [])
