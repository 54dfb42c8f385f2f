"""Time that reading residuals off a density adds to the first call."""

from typing import Any

import jax
import numpy as np

from mongepatch import targets
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.program.stopwatch import stopwatch
from mongepatch.sampling.prepare import prepare
from mongepatch.targets import Target


def raw_targets() -> dict[str, Target]:
    """The test problems of the library, none of which has residuals of its own."""
    rng = np.random.default_rng(0)
    design = targets.standardized_design(rng.normal(size=(270, 13)))
    return {
        "funnel, D = 10": targets.funnel(10),
        "Neal's funnel": targets.neal_funnel(),
        "banana": targets.banana(),
        "ring": targets.ring(),
        "Rosenbrock": targets.rosenbrock(),
        "squiggle": targets.squiggle(),
        "logistic": targets.logistic_regression(design, rng.integers(2, size=270)),
    }


def reading_table(rounds: int = 3) -> dict[str, float]:
    """Print what preparing a run takes with and without reading; return the difference as a fraction of the call."""
    rows, found = [], {}
    for name, target in raw_targets().items():
        with_reading, without = (_prepare_seconds(target, rounds, read=read) for read in (True, False))
        jax.clear_caches()
        with stopwatch() as watch:
            sample_quietly(target, progress=False)
        found[name] = (with_reading - without) / watch.total
        rows.append((name, f"{without:.3f}", f"{with_reading:.3f}", f"{watch.total:.1f}", f"{100 * found[name]:.1f}%"))
    print_table(
        "Seconds of the first call for a raw density, nothing compiled before",
        ("", "preparing, without reading", "with reading", "whole call", "added by reading"),
        rows,
        (f"Preparing: medians of {rounds}; with reading it includes the plan of whitened coordinates, if any.",),
    )
    return found


def _prepare_seconds(target: Target, rounds: int, **settings: Any) -> float:
    times = []
    for _ in range(rounds):
        jax.clear_caches()
        with stopwatch() as watch:
            prepare(target, whiten=True, **settings)
        times.append(watch.total)
    return float(np.median(times))
