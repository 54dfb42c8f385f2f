"""Effective draws per gradient of the two integration schemes: one kick at interior points, or two."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, get_args

import numpy as np

from benchmarks.measures.effective_size import best_efficiency, sampled_efficiency
from benchmarks.step import synthetic_regression
from mongepatch.integrators import Scheme
from mongepatch.metrics import Monge
from mongepatch.paper.console import print_table
from mongepatch.targets import Target, banana, funnel, ring, rosenbrock, squiggle
from mongepatch.trajectories import Static

SHRINK = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)


class SchemeProblem(NamedTuple):
    """A target with an α, an integration time, and a step size of which fractions are tried."""

    name: str
    target: Target
    alpha: float
    time: float
    step_size: float


def problems() -> list[SchemeProblem]:
    """Targets on which the metric helps, and targets on which it does not."""
    return [
        SchemeProblem("funnel, D = 1", funnel(1), 1.0, 1.8, 0.2),
        SchemeProblem("funnel, D = 3", funnel(3), 0.1, 1.8, 0.2),
        SchemeProblem("banana", banana(), 1.0, 1.0, 0.2),
        SchemeProblem("squiggle, a = 1", squiggle(1.0), 1.0, 0.9, 0.07),
        SchemeProblem("ring", ring(), 0.5, 6.0, 0.3),
        SchemeProblem("Rosenbrock", rosenbrock(), 0.5, 2.0, 0.2),
        SchemeProblem("logistic, N = 270, D = 14", synthetic_regression(270, 14), 0.1, 0.6, 0.2),
    ]


def efficiency(problem: SchemeProblem, scheme: Scheme, draws: int, shrink: float, seed: int) -> float:
    """Smallest effective sample size per 1000 gradient-equivalents, at a fraction of the problem's step size."""
    step_size = shrink * problem.step_size
    settings = {"metric": Monge(problem.alpha), "step_size": step_size, "scheme": scheme}
    trajectory = Static(max(1, round(problem.time / step_size)), jitter=0.5)
    return sampled_efficiency(problem.target, seed, draws, warmup=draws // 10, trajectory=trajectory, **settings)


def run(draws: int = 5000, seeds: Sequence[int] = (0, 1, 2)) -> float:
    """Print the best of each scheme over step sizes; return the median of merged / paper."""
    rows, ratios = [], []
    for problem in problems():
        best = {
            scheme: best_efficiency(partial(efficiency, problem, scheme, draws), SHRINK, seeds)
            for scheme in get_args(Scheme)
        }
        ratios.append(best["merged"][0] / best["paper"][0])
        cells = [f"{value:.3g} at {s * problem.step_size:.3g}" for value, s in (best["merged"], best["paper"])]
        rows.append((f"{problem.name}, α = {problem.alpha:g}", *cells, f"{ratios[-1]:.2f}"))
    median = float(np.median(ratios))
    print_table(
        f"Smallest effective sample size per 1000 gradient-equivalents, best step size, median of {len(seeds)} seeds",
        ("", "merged, at ε", "paper, at ε", "merged / paper"),
        [*rows, ("median", "", "", f"{median:.2f}")],
    )
    return median
