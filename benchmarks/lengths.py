"""Length of static trajectories in a patch: effective draws of centred hierarchies, by length."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.measures.names import check_problems
from benchmarks.patches.problems import NumpyroProblem, hard_problems
from benchmarks.patches.samplers import SamplerTask
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.sampling.diagnostics import smallest_ess_of_run
from mongepatch.trajectories import Static

PROBLEMS = ("schools", "softplus-10", "groups-100", "slopes")
LENGTHS = (12, 20, 28)
JITTER = 1.0


class RunEfficiency(NamedTuple):
    """Effective size of a run."""

    size: float
    """The smallest effective size."""
    per_second: float
    """The same per second after warm-up."""


def run(
    draws: int = 1000,
    seeds: Sequence[int] = range(5),
    only: Collection[str] = PROBLEMS,
    lengths: Sequence[int] = LENGTHS,
) -> dict[str, dict[int, list[RunEfficiency]]]:
    """Print a line for each problem, a column for each longest trajectory."""
    problems = {problem.name: problem for problem in hard_problems()}
    check_problems(only, problems)
    found = {
        name: {length: [_efficiency(problems[name], length, draws, seed) for seed in seeds] for length in lengths}
        for name in only
    }
    print_table(
        f"Static trajectories in a patch: 4 × {draws:,} draws, medians of {len(seeds)} seeds",
        ("up to", *(f"{length} steps" for length in lengths)),
        [(name, *map(_entry, by_length.values())) for name, by_length in found.items()],
        ("Smallest effective size of bulk, tail and squares; the same per second after warm-up.",),
    )
    return found


def _efficiency(problem: NumpyroProblem, length: int, draws: int, seed: int) -> RunEfficiency:
    target, trajectory = SamplerTask(problem.centred, problem.data).target, Static(length, JITTER)
    tree = sample_quietly(target, metric="patch", trajectory=trajectory, draws=draws, seed=seed, progress=False)
    size = smallest_ess_of_run(tree)
    return RunEfficiency(size, size / float(tree["posterior"].attrs["sampling_time"]))


def _entry(runs: Sequence[RunEfficiency]) -> str:
    size, per_second = np.median(runs, axis=0)
    return f"{size:,.0f}; {per_second:,.0f}"
