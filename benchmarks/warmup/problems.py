"""Posteriors on which NUTS does well, with what is known of them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mongepatch import baselines, datasets
from mongepatch._typing import Scalar, Vector
from mongepatch.bench import posteriors
from mongepatch.bench.reference import Known, flattened, known_from
from mongepatch.errors import DataError
from mongepatch.targets import Target

LONG = 10_000
"""Draws of each of four chains that a regression's reference is made from."""


class Problem(NamedTuple):
    """A posterior, where to start, and the truth about some quantities."""

    name: str
    target: Target
    init: Any
    quantities: Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
    """Quantities [chain, draw] from draws by name."""
    truth: Mapping[str, Known]
    typical: np.ndarray
    """Draws of the flat position, from elsewhere."""


REGRESSIONS, NORMAL = ("heart", "german", "australian"), "normal"
DEAR = ("diamonds-diamonds",)
"""Posteriors on which NUTS takes a thousand steps a draw: measured only where they are asked for."""


def problems(folder: Path | None, only: Collection[str]) -> Iterator[Problem]:
    """Some of them, by name, or all; those of posteriordb where there is a folder of it."""
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
        print("The posteriors of posteriordb are left out: name a folder of them.")
        return
    for name in posteriors.available(folder):
        if name not in only if only else name in DEAR:
            continue
        posterior = posteriors.load(folder, name)
        free = posterior.unconstrain(posterior.reference)
        start = {key: values[0, 0] for key, values in free.items()}
        truth = known_from(posterior.reference)
        yield Problem(name, posterior.target, start, posterior.constrain, truth, _rows(posterior.target, free))


def regression(name: str) -> Problem:
    """One of the paper's regressions, its truth from a long run of BlackJAX's NUTS."""
    target = datasets.load(name).target()
    tree = baselines.nuts(target, draws=LONG, warmup=2000, seed=2**31 - 1)
    draws = {"beta": np.asarray(tree["posterior"]["beta"])}
    return Problem(name, target, None, flattened, known_from(flattened(draws)), _rows(target, draws))


def gaussian(dimension: int, condition: float) -> Problem:
    """A normal distribution whose covariance has eigenvalues from 1 to `condition` along random axes."""
    axes, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(dimension, dimension)))
    variances = np.geomspace(1.0, condition, dimension)
    precision = jnp.asarray((axes / variances) @ axes.T)

    def logdensity(x: Vector) -> Scalar:
        return -0.5 * x @ (precision @ x)

    covariance = (axes * variances) @ axes.T
    sd = np.sqrt(covariance.diagonal())
    typical = np.random.default_rng(1).multivariate_normal(np.zeros(dimension), covariance, size=2000)
    truth = {f"x[{i}]": Known(0.0, float(sd[i])) for i in range(dimension)}
    target = Target.from_density(logdensity, jnp.zeros(dimension))
    return Problem(f"normal, D = {dimension}", target, np.zeros(dimension), flattened, truth, typical)


def _rows(target: Target, draws: Mapping[str, np.ndarray]) -> np.ndarray:
    """Flat positions, a row for each draw of each chain."""
    parts = [draws[name].reshape(*draws[name].shape[:2], -1) for name in target.layout.names]
    return np.concatenate(parts, axis=-1).reshape(-1, target.dimension)
