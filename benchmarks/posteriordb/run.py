"""The table of posteriordb: is every mean, standard deviation and quantile right, and how fast."""

import sys
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mongepatch.bench.patches.landmarks import TAILS, deviation, estimated
from mongepatch.bench.patches.quality import FAR, largest_r_hat, least_size
from mongepatch.bench.posteriordb.cases import Case, Draws, cases
from mongepatch.bench.quiet import sample_quietly
from mongepatch.bench.reference import deviations as moments
from mongepatch.bench.reference import known_from
from mongepatch.bench.tables import show


class Line(NamedTuple):
    """What is measured of one case."""

    name: str
    front_end: str
    deviation: float
    """The largest, in standard errors."""
    worst: str
    """Of what."""
    compared: int
    """How many figures."""
    r_hat: float
    per_second: float
    """Least effective draws a second, of bulk, tails and squares, warm-up included and compilation not."""
    metric: str
    trajectory: str

    @property
    def is_right(self) -> bool:
        """Whether every figure is within four standard errors."""
        return self.deviation < FAR


def run(folder: Path, draws: int = 2000, seed: int = 0, only: Collection[str] = ()) -> list[Line]:
    """Print the table."""
    lines = []
    for case in cases(folder, only):
        lines.append(measure(case, draws, seed))
        print(f"{case.name}, {case.front_end}: {lines[-1].deviation:.2f}", file=sys.stderr, flush=True)
    show(
        f"Everything automatic, 4 × {draws:,} draws, beside the reference draws of posteriordb",
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
            "off by: the largest difference, in standard errors. ESS/s: least of bulk, tail and squares, in the time "
            "of warm-up and draws.",
        ],
    )
    return lines


def measure(case: Case, draws: int, seed: int) -> Line:
    """Sample, and compare."""
    tree = sample_quietly(case.target, case.init, draws=draws, seed=seed, progress=False)
    posterior = tree["posterior"]
    found = case.quantities({str(name): np.asarray(values) for name, values in posterior.to_dataset().items()})
    found = {name: found[name] for name in case.reference}
    figures = deviations(found, case.reference)
    worst = max(figures, key=lambda figure: np.nan_to_num(figures[figure], nan=np.inf))
    attrs = posterior.attrs
    return Line(
        name=case.name,
        front_end=case.front_end,
        deviation=figures[worst],
        worst=worst,
        compared=len(figures),
        r_hat=largest_r_hat(found),
        per_second=least_size(found) / (attrs["sampling_time"] + attrs["warmup_time"]),
        metric=attrs["metric"],
        trajectory=attrs["trajectory"],
    )


def deviations(draws: Draws, reference: Draws) -> dict[str, float]:
    """Differences of every mean, standard deviation and quantile from the reference, in standard errors of both."""
    found = moments(draws, known_from(reference))
    for name in reference:
        for landmark in estimated(reference[name], TAILS):
            found[f"{landmark.share:.0%} of {name}"] = deviation(draws[name], [landmark])
    return found
