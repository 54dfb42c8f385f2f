"""Models without hard geometry, which NUTS samples well."""

import sys
from pathlib import Path

import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems.base import NumpyroProblem
from benchmarks.posteriordb import numpyro_models
from mongepatch import datasets
from mongepatch.errors import DataError


def logistic(X: np.ndarray, y: np.ndarray) -> None:
    """The paper's regression."""
    beta = numpyro.sample("beta", dist.Normal(0, 10).expand([X.shape[1]]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=X @ beta).to_event(1), obs=y)


def problems(folder: Path | None) -> list[NumpyroProblem]:
    """The paper's regression on heart, and regressions of posteriordb where a folder has their data."""
    found = []
    try:
        heart = datasets.load("heart")
        found.append(NumpyroProblem("heart", logistic, (heart.design, heart.outcomes), others=("beta",)))
    except DataError as error:
        print(f"heart is left out: {error}", file=sys.stderr)
    return found + (numpyro_models.problems(folder, numpyro_models.REGRESSIONS) if folder else [])
