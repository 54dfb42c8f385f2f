"""Quality of draws: effective sizes, R̂, cost, and deviations from the truth."""

from typing import NamedTuple

import numpy as np

from benchmarks.measures.effective_size import AGREED, NEARLY, largest_r_hat, smallest_ess_of
from benchmarks.measures.quantile_checks import DEEP, FAR, KnownQuantiles, quantile_deviation
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.quantities import neck_names, neck_sites, quantities
from benchmarks.patches.samplers import SamplerOutcome
from mongepatch.paper.distances import ks_distance


class Quality(NamedTuple):
    """Measurements of one run."""

    size: float
    """Smallest effective size over all scalars: bulk, tail, and bulk of squares."""
    r_hat: float
    deviation: float
    """Largest over all quantities with a known truth, in standard errors."""
    worst: str
    """The quantity that has it."""
    deep: dict[str, float]
    """The 0.1% quantile of each log scale."""
    ks: float | None
    """Kolmogorov–Smirnov distance of a log scale whose distribution is known."""
    n_grad: int
    seconds: float
    least_seconds: float
    compile_seconds: float
    divergences: int | None
    remark: str

    @property
    def verdict(self) -> str:
        """`right`; `slow`, where no quantile is wrong but chains need more draws to agree; or `wrong`.

        `unjudged` where nothing is compared with a truth.
        """
        if not self.worst:
            return "unjudged"
        if not self.deviation <= FAR or not self.r_hat < NEARLY:
            return "wrong"
        return "right" if self.r_hat < AGREED else "slow"

    @property
    def per_second(self) -> float:
        """Effective draws per second, with warm-up and without compilation."""
        return self.size / self.seconds

    @property
    def most_per_second(self) -> float:
        """The same, with compiled gradients as the only cost of a sampler that calls back into Python."""
        return self.size / self.least_seconds

    @property
    def per_1000_grads(self) -> float:
        """Effective draws per 1000 gradient-equivalents, with those of warm-up."""
        return 1000.0 * self.size / self.n_grad


def quality(problem: NumpyroProblem, known: KnownQuantiles, outcome: SamplerOutcome) -> Quality:
    """Measure a run."""
    draws = quantities(problem, outcome.variables)
    deviations = {name: quantile_deviation(draws[name], quantiles) for name, quantiles in known.items()}
    worst = max(deviations, key=lambda name: deviations[name], default="")
    exact = [name for name in neck_sites(problem) if name in problem.exact]
    return Quality(
        size=smallest_ess_of(draws),
        r_hat=largest_r_hat(draws),
        deviation=deviations.get(worst, 0.0),
        worst=worst,
        deep={name: float(np.quantile(draws[name], DEEP)) for name in neck_names(problem, draws)},
        ks=max((ks_distance(draws[name], problem.exact[name]) for name in exact), default=None),
        n_grad=outcome.n_grad,
        seconds=outcome.seconds,
        least_seconds=outcome.seconds if outcome.least_seconds is None else outcome.least_seconds,
        compile_seconds=outcome.compile_seconds,
        divergences=outcome.divergences,
        remark=outcome.remark,
    )
