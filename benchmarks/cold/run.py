"""Runs the benchmark of first calls and prints its table."""

import json
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.cold.calls import CALLS, ColdRun, fresh_run
from benchmarks.cold.problems import problems
from benchmarks.measures.names import check_problems
from benchmarks.measures.versions import versions
from benchmarks.patches.measure import report_progress
from mongepatch.paper.console import print_table

PACKAGES = ("mongepatch", "jax", "numpyro", "arviz-stats")
LEGEND = (
    "Seconds from the call to the result in a fresh process, imports excluded: ours / NumPyro NUTS. CPU: of all "
    "threads. Tracing, lowering, compiling: as JAX reports them; ours compiles in a thread of its own while others go "
    "on. Rest: in which nothing of that was done, and no draws were made (NumPyro's has its draws). Again: a second "
    "call of ours.",
)

Runs: TypeAlias = Mapping[str, Sequence[ColdRun]]
"""Of each sampler, by name."""


def run(
    draws: int = 1000, warmup: int = 1000, rounds: int = 1, only: Collection[str] = (), json_file: Path | None = None
) -> dict[str, float]:
    """Print the table of all or of some problems; return the ratios of seconds, ours to NumPyro's."""
    names = [problem.name for problem in problems()]
    check_problems(only, names)
    results: dict[str, dict[str, list[ColdRun]]] = {
        name: {sampler: [] for sampler in CALLS} for name in names if not only or name in only
    }
    for number in range(rounds):
        for name, made in results.items():
            # In turns, the other one first each time: a slow moment of a shared machine then slows both.
            for sampler in list(CALLS)[:: -1 if number % 2 else 1]:
                one = fresh_run(name, sampler, draws, warmup)
                made[sampler].append(one)
                report_progress(f"{name}: {sampler}: {one.first.wall:.1f} s, {one.first.programs} programs")
    _write(json_file, draws, warmup, results)
    rows = [(name, *_row(made)) for name, made in results.items()]
    columns = ("", "seconds", "ratio", "CPU", "ratio", "programs", "tracing", "lowering", "compiling", "draws", "rest")
    print_table(f"First call, 4 × {draws} draws, medians of {rounds}", (*columns, "again"), rows, LEGEND)
    return {name: _ratio(_both(made, lambda one: one.first.wall)) for name, made in results.items()}


def _row(made: Runs) -> list[str]:
    """One problem's entries of the table."""
    wall, cpu = _both(made, lambda one: one.first.wall), _both(made, lambda one: one.first.cpu)
    figures: list[Callable[[ColdRun], float]] = [
        lambda one: one.first.programs,
        lambda one: one.first.tracing,
        lambda one: one.first.lowering,
        lambda one: one.first.compiling,
        lambda one: one.sampling,
        lambda one: one.first.other - one.sampling,
    ]
    (programs, *parts) = (_both(made, figure) for figure in figures)
    again = np.median([one.second.wall for one in made["ours"] if one.second is not None])
    return [
        _pair(wall),
        f"{_ratio(wall):.2f}",
        _pair(cpu),
        f"{_ratio(cpu):.2f}",
        _pair(programs, ".0f"),
        *map(_pair, parts),
        f"{again:.2f}",
    ]


def _both(made: Runs, figure: Callable[[ColdRun], float]) -> tuple[float, float]:
    """The median of a figure, of each sampler."""
    ours, nuts = (float(np.median([figure(one) for one in runs])) for runs in made.values())
    return ours, nuts


def _pair(values: tuple[float, float], style: str = ".1f") -> str:
    return " / ".join(f"{value:{style}}" for value in values)


def _ratio(values: tuple[float, float]) -> float:
    return values[0] / values[1]


def _write(path: Path | None, draws: int, warmup: int, results: Mapping[str, Runs]) -> None:
    if path is None:
        return
    stored = {
        "versions": versions(PACKAGES),
        "machine": platform.platform(),
        "draws": draws,
        "warmup": warmup,
        "problems": {
            name: {
                sampler: [
                    {
                        "first": one.first._asdict(),
                        "second": one.second and one.second._asdict(),
                        "sampling": one.sampling,
                    }
                    for one in runs
                ]
                for sampler, runs in made.items()
            }
            for name, made in results.items()
        },
    }
    path.write_text(json.dumps(stored, indent=1))
