"""Time that the progress bar adds to a run."""

import time

import numpy as np

from benchmarks.step import synthetic_regression
from mongepatch.metrics import Monge
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.trajectories import Static


def run(draws: int = 20_000, rounds: int = 7) -> float:
    """Print the time of the same run with and without a bar; return what the bar adds, as a fraction."""
    target = synthetic_regression(270, 14)

    def seconds(progress: bool) -> float:
        started = time.perf_counter()
        sample_quietly(
            target,
            metric=Monge(0.1),
            trajectory=Static(7),
            step_size=0.1,
            draws=draws,
            warmup=0,
            progress=progress,
        )
        return time.perf_counter() - started

    seconds(False)  # compiles
    pairs = np.array([(seconds(True), seconds(False)) for _ in range(rounds)])
    with_bar, without = np.median(pairs, axis=0)
    fraction = float(np.median(pairs[:, 0] / pairs[:, 1]) - 1.0)
    print_table(
        f"4 × {draws:,} draws of a logistic regression, D = 14, median of {rounds}",
        ("", "seconds"),
        [("with a bar", f"{with_bar:.3f}"), ("without", f"{without:.3f}"), ("the bar adds", f"{fraction:+.1%}")],
    )
    return fraction
