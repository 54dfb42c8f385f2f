"""Time of a draw of NUTS by the number of chains: in lockstep, and with each chain at its own pace."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from benchmarks.measures.timing import seconds_of
from benchmarks.patches.problems import hard_problems
from mongepatch import from_numpyro
from mongepatch.chains import Tuning
from mongepatch.chains.lockstep import run_in_lockstep
from mongepatch.chains.own_pace import run_at_own_pace
from mongepatch.kernels import LMC
from mongepatch.metrics import Euclidean
from mongepatch.paper.console import print_table
from mongepatch.sampling.prepare import prepare
from mongepatch.targets import Target, neal_funnel
from mongepatch.trajectories import NUTS
from mongepatch.warmup.step_size import FixedStepSize

CHAINS = (1, 16, 64, 256, 1024, 4096)
BURN_IN, DRAWS = 10, 20


class ManyChainsProblem(NamedTuple):
    """A target with the step size that its chains have."""

    name: str
    target: Target
    step_size: float


def problems() -> list[ManyChainsProblem]:
    """Eight schools, whose trees are much alike in whitened coordinates, and a funnel, whose trees are not."""
    schools = next(problem for problem in hard_problems() if problem.name == "schools")
    return [
        ManyChainsProblem("eight schools, whitened", from_numpyro(schools.centred, *schools.data), 0.7),
        ManyChainsProblem("Neal's funnel, D = 10", neal_funnel(9), 0.3),
    ]


class Paces(NamedTuple):
    """Both ways to make the same draws, and the steps that chains make at once in each."""

    calls: Mapping[str, Callable[[], Any]]
    steps: dict[str, int]


def paces(problem: ManyChainsProblem, chains: int) -> Paces:
    """Compile both, and let chains leave their initial points."""
    prepared = prepare(problem.target, chains=chains, whiten=True)
    tuning = Tuning(prepared.fitted(Euclidean()), NUTS())
    policy = FixedStepSize(jnp.asarray(problem.step_size))
    settings: dict[str, Any] = {"kernel": LMC(), "capacity": DRAWS}
    key, density = prepared.keys.run, prepared.density
    start = prepared.initial_points(tuning.metric)
    points, *_ = run_at_own_pace(key, start, policy, 0, BURN_IN, BURN_IN, density, tuning, **settings)
    calls = {
        "lockstep": partial(run_in_lockstep, key, points, policy, BURN_IN, DRAWS, density, tuning, **settings),
        "own pace": partial(run_at_own_pace, key, points, policy, BURN_IN, DRAWS, DRAWS, density, tuning, **settings),
    }
    _, _, chunk = calls["lockstep"]()
    *_, steps = calls["own pace"]()
    waited_for = int(np.asarray(chunk.info.n_steps).max(axis=1).sum())
    return Paces(calls, {"lockstep": waited_for, "own pace": int(steps)})


def run(rounds: int = 5, chains: Sequence[int] = CHAINS) -> dict[str, dict[int, float]]:
    """Print a table for each problem; return how many times as fast chains are at their own pace."""
    found: dict[str, dict[int, float]] = {}
    for problem in problems():
        rows, found[problem.name] = [], {}
        for number in chains:
            made = paces(problem, number)
            seconds = seconds_of(made.calls, rounds)
            faster = float(np.median(seconds["lockstep"] / seconds["own pace"]))
            found[problem.name][number] = faster
            times = (f"{1e3 * np.median(seconds[name]) / DRAWS:.3f}" for name in made.calls)
            steps = (f"{made.steps[name] / DRAWS:.1f}" for name in made.calls)
            rows.append((f"{number:,}", *times, f"{faster:.2f}", *steps))
        print_table(
            f"A draw of all chains, {problem.name}",
            ("chains", "lockstep ms", "own pace ms", "times as fast", "steps: lockstep", "own pace"),
            rows,
        )
    return found
