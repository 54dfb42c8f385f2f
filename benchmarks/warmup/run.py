"""Runs the benchmark of warm-up and prints its tables."""

import time
from collections.abc import Collection, Sequence
from pathlib import Path

from benchmarks.warmup import funnels, regular
from benchmarks.warmup.problems import problems
from mongepatch import datasets
from mongepatch.chains.chunks import compiled_programs
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly

FUNNELS = "funnels"


def run(
    draws: int = 1000,
    funnel_draws: int = 15_000,
    seeds: Sequence[int] = range(5),
    posteriordb: Path | None = None,
    only: Collection[str] = (),
) -> None:
    """Print the tables of all problems, or of some."""
    if not only:
        compilation_table()
    regular.table(problems(posteriordb, only), draws, seeds)
    if not only or FUNNELS in only:
        funnels.table(funnel_draws, seeds)


def compilation_table() -> None:
    """Print the seconds of a first and a second call on heart, and the number of samplers compiled."""
    target = datasets.load("heart").target()
    before = compiled_programs()

    def seconds(seed: int) -> float:
        started = time.perf_counter()
        sample_quietly(target, seed=seed, progress=False)
        return time.perf_counter() - started

    first, programs = seconds(0), compiled_programs() - before
    second, again = seconds(1), compiled_programs() - before - programs
    print_table(
        "Heart, all automatic: 4 × (1000 + 1000) draws",
        ("", "seconds", "samplers compiled"),
        [("first call", f"{first:.1f}", programs), ("another seed", f"{second:.2f}", again)],
        ["A sampler is compiled for each kind of trajectory and of metric, and not again for the windows of warm-up."],
    )
