"""Posteriors that NUTS samples well, with their known moments."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from benchmarks.measures.reference import KnownMoments, known_from
from benchmarks.measures.scalars import Draws, scalars
from benchmarks.posteriordb.load import available, load
from mongepatch import baselines, datasets
from mongepatch._typing import Scalar, Vector
from mongepatch.errors import DataError
from mongepatch.targets import Target

LONG = 10_000
"""Draws of each of four chains for the reference of a regression."""


class ReferenceProblem(NamedTuple):
    """A posterior with a starting point and the known moments of some quantities."""

    name: str
    target: Target
    init: Any
    quantities: Callable[[Draws], dict[str, np.ndarray]]
    """Quantities [chain, draw] from draws by name."""
    truth: Mapping[str, KnownMoments]
    typical: np.ndarray
    """Draws of the flat position from another source."""


REGRESSIONS, NORMAL = ("heart", "german", "australian"), "normal"
DEAR = ("diamonds-diamonds",)
"""Posteriors on which NUTS takes a thousand steps per draw: measured only if named."""


def problems(folder: Path | None, only: Collection[str]) -> Iterator[ReferenceProblem]:
    """All problems, or some by name; those of posteriordb where a folder has their data."""
    for name in REGRESSIONS:
        if only and name not in only:
            continue
        try:
            yield regression(name)
        except DataError as error:
            print(f"{name} is left out: {error}")
    if not only or NORMAL in only:
        yield gaussian(100, 1e4)
    if folder is None:
        print("The posteriors of posteriordb are left out: --posteriordb names a folder of them.")
        return
    for name in available(folder):
        if name not in only if only else name in DEAR:
            continue
        posterior = load(folder, name)
        free = posterior.unconstrain(posterior.reference)
        start = {key: values[0, 0] for key, values in free.items()}
        truth = known_from(posterior.reference)
        yield ReferenceProblem(name, posterior.target, start, posterior.constrain, truth, _rows(posterior.target, free))


def regression(name: str) -> ReferenceProblem:
    """One of the paper's regressions, with moments from a long run of BlackJAX's NUTS."""
    target = datasets.load(name).target()
    tree = baselines.nuts(target, draws=LONG, warmup=2000, seed=2**31 - 1)
    draws = {"beta": np.asarray(tree["posterior"]["beta"])}
    return ReferenceProblem(name, target, None, scalars, known_from(scalars(draws)), _rows(target, draws))


def gaussian(dimension: int, condition: float) -> ReferenceProblem:
    """A normal distribution whose covariance has eigenvalues from 1 to `condition` along random axes."""
    axes, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(dimension, dimension)))
    variances = np.geomspace(1.0, condition, dimension)
    precision = jnp.asarray((axes / variances) @ axes.T)

    def logdensity(x: Vector) -> Scalar:
        return -0.5 * x @ (precision @ x)

    covariance = (axes * variances) @ axes.T
    sd = np.sqrt(covariance.diagonal())
    typical = np.random.default_rng(1).multivariate_normal(np.zeros(dimension), covariance, size=2000)
    truth = {f"x[{i}]": KnownMoments(0.0, float(sd[i])) for i in range(dimension)}
    target = Target.from_density(logdensity, jnp.zeros(dimension))
    return ReferenceProblem(f"normal, D = {dimension}", target, np.zeros(dimension), scalars, truth, typical)


def _rows(target: Target, draws: Draws) -> np.ndarray:
    """Flat positions, a row for each draw of each chain."""
    parts = [draws[name].reshape(*draws[name].shape[:2], -1) for name in target.layout.names]
    return np.concatenate(parts, axis=-1).reshape(-1, target.dimension)
