"""The table of posteriordb: deviations of every mean, standard deviation and quantile, and efficiency."""

import sys
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measures.effective_size import largest_r_hat, smallest_ess_of
from benchmarks.measures.quantile_checks import FAR, estimated_quantiles, quantile_deviation
from benchmarks.measures.reference import deviations as moments
from benchmarks.measures.reference import known_from
from benchmarks.measures.scalars import Draws
from benchmarks.posteriordb.cases import PosteriorCase, cases
from mongepatch.chains.effective_size import TAILS
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly


class PosteriorComparison(NamedTuple):
    """Measurements of one posterior in one front end."""

    name: str
    front_end: str
    deviation: float
    """The largest, in standard errors."""
    worst: str
    """The mean, standard deviation or quantile that has it."""
    compared: int
    """Number of means, standard deviations and quantiles."""
    r_hat: float
    per_second: float
    """Smallest effective size of bulk, tails and squares per second, with warm-up and without compilation."""
    metric: str
    trajectory: str

    @property
    def is_right(self) -> bool:
        """Whether every deviation is below four standard errors."""
        return self.deviation < FAR


def run(folder: Path, draws: int = 2000, seed: int = 0, only: Collection[str] = ()) -> list[PosteriorComparison]:
    """Sample all posteriors and print the table."""
    lines = []
    for case in cases(folder, only):
        lines.append(measure(case, draws, seed))
        print(f"{case.name}, {case.front_end}: {lines[-1].deviation:.2f}", file=sys.stderr, flush=True)
    print_table(
        f"Everything automatic, 4 × {draws:,} draws, compared with the reference draws of posteriordb",
        ("", "front end", "off by", "in", "figures", "R̂", "ESS/s", "metric", "trajectory"),
        [
            (
                line.name,
                line.front_end,
                f"{line.deviation:.2f}",
                line.worst,
                line.compared,
                f"{line.r_hat:.3f}",
                f"{line.per_second:.3g}",
                line.metric,
                line.trajectory,
            )
            for line in lines
        ],
        [
            f"{sum(line.is_right for line in lines)} of {len(lines)} are right: within {FAR:g} Monte Carlo standard "
            "errors, of both runs together, in every mean, standard deviation, 5% and 95% quantile.",
            "off by: the largest difference, in standard errors. ESS/s: smallest of bulk, tail and squares, per "
            "second of warm-up and draws.",
        ],
    )
    return lines


def measure(case: PosteriorCase, draws: int, seed: int) -> PosteriorComparison:
    """Sample a posterior, and compare with its reference draws."""
    tree = sample_quietly(case.target, case.init, draws=draws, seed=seed, progress=False)
    posterior = tree["posterior"]
    found = case.quantities({str(name): np.asarray(values) for name, values in posterior.to_dataset().items()})
    found = {name: found[name] for name in case.reference}
    figures = deviations(found, case.reference)
    worst = max(figures, key=lambda figure: np.nan_to_num(figures[figure], nan=np.inf))
    attrs = posterior.attrs
    return PosteriorComparison(
        name=case.name,
        front_end=case.front_end,
        deviation=figures[worst],
        worst=worst,
        compared=len(figures),
        r_hat=largest_r_hat(found),
        per_second=smallest_ess_of(found) / (attrs["sampling_time"] + attrs["warmup_time"]),
        metric=attrs["metric"],
        trajectory=attrs["trajectory"],
    )


def deviations(draws: Draws, reference: Draws) -> dict[str, float]:
    """Differences of every mean, standard deviation and quantile from the reference, in standard errors of both."""
    found = moments(draws, known_from(reference))
    for name in reference:
        for known in estimated_quantiles(reference[name], TAILS):
            found[f"{known.probability:.0%} of {name}"] = quantile_deviation(draws[name], [known])
    return found
