"""What a store costs: the time that it adds to a run, and the memory that a long run takes."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jax.numpy as jnp
import numpy as np

from mongepatch.metrics import Euclidean
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.sampling.live import LiveDiagnostics
from mongepatch.trajectories import Static

DIMENSION = 10


def density(x: Any) -> Any:
    """A standard normal density: a draw takes so little time that storing it counts."""
    return -0.5 * (x**2).sum()


def sample_normal(draws: int, **options: Any) -> float:
    """Draw from it with four chains, and return the seconds that all of it took."""
    settings = {"metric": Euclidean(), "trajectory": Static(8), "step_size": 0.3, "warmup": 0, "progress": False}
    started = time.perf_counter()
    sample_quietly(density, jnp.zeros(DIMENSION), draws=draws, **settings, **options)
    return time.perf_counter() - started


def peak_memory(draws: int) -> float:
    """The most memory, in MB, of a process that stores so many draws of each chain."""
    command = [sys.executable, "-m", "benchmarks", "store-one", "--draws", str(draws)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def print_peak_memory(draws: int) -> None:
    """Store draws in this process, and print the most memory that it had, in MB."""
    import resource

    with tempfile.TemporaryDirectory() as folder:
        sample_normal(draws, store=str(Path(folder) / "run.zarr"))
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def watching_fraction(draws: int) -> float:
    """Time that a run with a callback spends in its diagnostics, as a fraction: steadier than a difference of runs."""
    spent = [0.0]

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return method(*arguments, **options)
            finally:
                spent[0] += time.perf_counter() - started

        return call

    with patch.multiple(LiveDiagnostics, add=timed(LiveDiagnostics.add), estimates=timed(LiveDiagnostics.estimates)):
        whole = sample_normal(draws, callback=lambda status: None)
    return spent[0] / whole


def run(draws: int = 1_000_000, rounds: int = 5) -> tuple[float, float, float]:
    """Print memory and rates; return the memory that a long run adds, and rates with a store and with a callback."""
    few = draws // 100
    memory = {count: peak_memory(count) for count in (few, draws)}
    timed = max(1000, draws // 4)
    sample_normal(timed)  # compiles
    rows = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            stored = sample_normal(timed, store=str(Path(folder) / f"{number}.zarr"))
        rows.append((stored, sample_normal(timed), sample_normal(timed, callback=lambda status: None)))
    with_store, without, watched = np.array(rows).T
    rate, cost = float(np.median(without / with_store)), float(np.median(watched / without) - 1.0)
    print_table(
        f"4 chains, a normal density, D = {DIMENSION}",
        ("", ""),
        [
            *((f"peak memory, {count:,} draws, MB", f"{peak:,.0f}") for count, peak in memory.items()),
            (f"rate with a store, relative to that without, {timed:,} draws, median of {rounds}", f"{rate:.2f}"),
            ("a callback adds, as a difference of whole runs", f"{cost:+.1%}"),
            ("time in the diagnostics that a callback needs, of the run", f"{watching_fraction(timed):.1%}"),
        ],
    )
    return memory[draws] - memory[few], rate, cost
