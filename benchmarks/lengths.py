"""How long the static trajectories of a patch should be: effective draws of centred hierarchies, by length."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from mongepatch.bench.effective import smallest_ess
from mongepatch.bench.names import check_problems
from mongepatch.bench.patches.problems import Problem, hard_problems
from mongepatch.bench.patches.samplers import Task
from mongepatch.bench.quiet import sample_quietly
from mongepatch.bench.tables import show
from mongepatch.trajectories import Static
from mongepatch.warmup.length import JITTER

PROBLEMS = ("schools", "softplus-10", "groups-100", "slopes")
LENGTHS = (12, 20, 28)


class Yield(NamedTuple):
    """What a run made."""

    size: float
    """Least effective size."""
    per_second: float
    """The same for each second after warm-up."""


def run(
    draws: int = 1000,
    seeds: Sequence[int] = range(5),
    only: Collection[str] = PROBLEMS,
    lengths: Sequence[int] = LENGTHS,
) -> dict[str, dict[int, list[Yield]]]:
    """Print a line for each problem, a column for each longest trajectory."""
    problems = {problem.name: problem for problem in hard_problems()}
    check_problems(only, problems)
    found = {
        name: {length: [_yield(problems[name], length, draws, seed) for seed in seeds] for length in lengths}
        for name in only
    }
    show(
        f"Static trajectories in a patch: 4 × {draws:,} draws, medians of {len(seeds)} seeds",
        ("up to", *(f"{length} steps" for length in lengths)),
        [(name, *map(_entry, by_length.values())) for name, by_length in found.items()],
        ("Least effective size of bulk, tail and squares; the same for each second after warm-up.",),
    )
    return found


def _yield(problem: Problem, length: int, draws: int, seed: int) -> Yield:
    target, trajectory = Task(problem.centred, problem.data).target, Static(length, JITTER)
    tree = sample_quietly(target, metric="patch", trajectory=trajectory, draws=draws, seed=seed, progress=False)
    size = smallest_ess(tree)
    return Yield(size, size / float(tree["posterior"].attrs["sampling_time"]))


def _entry(runs: Sequence[Yield]) -> str:
    size, per_second = np.median(runs, axis=0)
    return f"{size:,.0f}; {per_second:,.0f}"
