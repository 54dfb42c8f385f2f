"""Which integration scheme gives more effective draws for its gradients: one kick at interior points, or two?"""

from collections.abc import Sequence
from typing import NamedTuple, get_args

import numpy as np

from mongepatch.bench.effective import ess_per_1000_grads
from mongepatch.bench.quiet import sample_quietly
from mongepatch.bench.step import synthetic_regression
from mongepatch.bench.tables import show
from mongepatch.integrators import Scheme
from mongepatch.metrics import Monge
from mongepatch.targets import Target, banana, funnel, ring, rosenbrock, squiggle
from mongepatch.trajectories import Static

SHRINK = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)


class Problem(NamedTuple):
    """A target with an α, a time to integrate for, and a step size to try fractions of."""

    name: str
    target: Target
    alpha: float
    time: float
    step_size: float


def problems() -> list[Problem]:
    """Where the metric pays and where it does not."""
    return [
        Problem("funnel, D = 1", funnel(1), 1.0, 1.8, 0.2),
        Problem("funnel, D = 3", funnel(3), 0.1, 1.8, 0.2),
        Problem("banana", banana(), 1.0, 1.0, 0.2),
        Problem("squiggle, a = 1", squiggle(1.0), 1.0, 0.9, 0.07),
        Problem("ring", ring(), 0.5, 6.0, 0.3),
        Problem("Rosenbrock", rosenbrock(), 0.5, 2.0, 0.2),
        Problem("logistic, N = 270, D = 14", synthetic_regression(270, 14), 0.1, 0.6, 0.2),
    ]


def efficiency(problem: Problem, scheme: Scheme, shrink: float, draws: int, seed: int) -> float:
    """Smallest effective sample size per 1000 gradient-equivalents, at a fraction of the problem's step size."""
    step_size = shrink * problem.step_size
    tree = sample_quietly(
        problem.target,
        metric=Monge(problem.alpha),
        trajectory=Static(max(1, round(problem.time / step_size)), jitter=0.5),
        step_size=step_size,
        scheme=scheme,
        draws=draws,
        warmup=draws // 10,
        chains=8,
        seed=seed,
        progress=False,
    )
    return ess_per_1000_grads(tree)


def run(draws: int = 5000, seeds: Sequence[int] = (0, 1, 2)) -> float:
    """Print the best of each scheme over step sizes; return the median of merged / paper."""
    rows, ratios = [], []
    for problem in problems():
        best: dict[str, tuple[float, float]] = {}
        for scheme in get_args(Scheme):
            best[scheme] = max(
                (float(np.median([efficiency(problem, scheme, s, draws, seed) for seed in seeds])), s) for s in SHRINK
            )
        ratios.append(best["merged"][0] / best["paper"][0])
        cells = [f"{value:.3g} at {s * problem.step_size:.3g}" for value, s in (best["merged"], best["paper"])]
        rows.append((f"{problem.name}, α = {problem.alpha:g}", *cells, f"{ratios[-1]:.2f}"))
    median = float(np.median(ratios))
    show(
        f"Smallest effective sample size per 1000 gradient-equivalents, best step size, median of {len(seeds)} seeds",
        ("", "merged, at ε", "paper, at ε", "merged / paper"),
        [*rows, ("median", "", "", f"{median:.2f}")],
    )
    return median
