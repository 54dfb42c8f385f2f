"""The models whose first call is timed."""

import numpy as np

from benchmarks.patches.problems import NumpyroProblem


def problems() -> list[NumpyroProblem]:
    """Eight schools, a logistic regression of 1000 × 20, a hundred groups and slopes with an LKJ prior, all centred."""
    from benchmarks.examples.problems.regressions import logistic
    from benchmarks.patches.problems import groups, schools, slopes

    known = {problem.name: problem for family in (schools, groups, slopes) for problem in family.problems()}
    regression = NumpyroProblem("logistic", logistic, _outcomes(), others=("beta",))
    return [known["schools"], regression, known["groups-100"], known["slopes"]]


def _outcomes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(24)
    X = rng.normal(size=(1000, 20))
    probabilities = 1.0 / (1.0 + np.exp(-X @ rng.normal(0.0, 0.5, size=20)))
    return X, (rng.random(1000) < probabilities).astype(int)
