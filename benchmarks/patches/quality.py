"""How good draws are, by themselves and beside the truth."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mongepatch._extras import require
from mongepatch.bench.distances import ks_distance
from mongepatch.bench.patches.landmarks import DEEP, Landmarks, deviation, effective_size
from mongepatch.bench.patches.problems import Problem
from mongepatch.bench.patches.quantities import neck_names, neck_sites, quantities
from mongepatch.bench.patches.samplers import Outcome

FAR = 4.0
"""Standard errors that draws may be from the truth."""
AGREED, NEARLY = 1.01, 1.05
"""R̂ of chains that agree; and of chains that would with more draws."""


class Quality(NamedTuple):
    """What is measured of one run."""

    size: float
    """Least effective size over all scalars: bulk, tail, and bulk of squares."""
    r_hat: float
    deviation: float
    """Largest over what is compared with the truth, in standard errors."""
    worst: str
    """Of which quantity."""
    deep: dict[str, float]
    """The 0.1% quantile of each log-scale."""
    ks: float | None
    """Kolmogorov–Smirnov distance of a log-scale that is known exactly."""
    n_grad: int
    seconds: float
    least_seconds: float
    compile_seconds: float
    divergences: int | None
    remark: str

    @property
    def verdict(self) -> str:
        """`right`; `slow`, where nothing is wrong yet but chains need more draws to agree; or `wrong`.

        `unjudged` where nothing was compared with a truth.
        """
        if not self.worst:
            return "unjudged"
        if not self.deviation <= FAR or not self.r_hat < NEARLY:
            return "wrong"
        return "right" if self.r_hat < AGREED else "slow"

    @property
    def per_second(self) -> float:
        """Effective draws a second, warm-up included and compilation not."""
        return self.size / self.seconds

    @property
    def most_per_second(self) -> float:
        """The same, where a sampler that calls back into Python is charged for compiled gradients only."""
        return self.size / self.least_seconds

    @property
    def per_1000_grads(self) -> float:
        """Effective draws for each 1000 gradient-equivalents, those of warm-up included."""
        return 1000.0 * self.size / self.n_grad


def quality(problem: Problem, landmarks: Landmarks, outcome: Outcome) -> Quality:
    """Measure a run."""
    draws = quantities(problem, outcome.variables)
    deviations = {name: deviation(draws[name], marks) for name, marks in landmarks.items()}
    worst = max(deviations, key=lambda name: deviations[name], default="")
    known = [name for name in neck_sites(problem) if name in problem.exact]
    return Quality(
        size=least_size(draws),
        r_hat=largest_r_hat(draws),
        deviation=deviations.get(worst, 0.0),
        worst=worst,
        deep={name: float(np.quantile(draws[name], DEEP)) for name in neck_names(problem, draws)},
        ks=max((ks_distance(draws[name], problem.exact[name]) for name in known), default=None),
        n_grad=outcome.n_grad,
        seconds=outcome.seconds,
        least_seconds=outcome.seconds if outcome.least_seconds is None else outcome.least_seconds,
        compile_seconds=outcome.compile_seconds,
        divergences=outcome.divergences,
        remark=outcome.remark,
    )


def least_size(draws: Mapping[str, np.ndarray]) -> float:
    """Least effective size of quantities [chain, draw]: of bulk, of tails and of squares."""
    return min(
        min(effective_size(x, "bulk"), effective_size(x, "tail"), effective_size((x - x.mean()) ** 2, "bulk"))
        for x in draws.values()
    )


def largest_r_hat(draws: Mapping[str, np.ndarray]) -> float:
    """Largest R̂ of quantities [chain, draw], rank-normalised; infinite where a chain has not moved."""
    rhat = require("arviz_stats.base", "sample", "A bench").array_stats.rhat
    values = [float(rhat(x, chain_axis=0, draw_axis=1, method="rank")) for x in draws.values()]
    return float(np.nan_to_num(max(values, key=lambda value: np.nan_to_num(value, nan=np.inf)), nan=np.inf))
