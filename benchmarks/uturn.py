"""Effective draws per gradient of NUTS with each of its U-turn rules."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measures.effective_size import best_efficiency, sampled_efficiency
from mongepatch import datasets
from mongepatch._typing import Scalar, Vector
from mongepatch.metrics import Euclidean, Fisher, Metric, Monge
from mongepatch.paper.console import print_table
from mongepatch.targets import Target, banana, funnel, neal_funnel, ring
from mongepatch.trajectories import NUTS
from mongepatch.trajectories.uturn import Rule

STEPS = (0.5, 0.75, 1.0)
"""Fractions of a problem's step size that are tried; the best counts."""


class UTurnProblem(NamedTuple):
    """A target in a metric, with a step size of which fractions are tried."""

    name: str
    target: Target
    metric: Metric
    step_size: float


def normal(scales: jax.Array) -> Target:
    """Independent normals with these standard deviations."""

    def logdensity(x: Vector) -> Scalar:
        return -0.5 * ((x / scales) ** 2).sum()

    return Target.from_density(logdensity, jnp.zeros(scales.size))


def problems() -> list[UTurnProblem]:
    """Targets in Euclidean and in curved metrics."""
    regression = datasets.load("german")
    return [
        UTurnProblem("N(0, 1) in 30 dimensions, Euclidean", normal(jnp.ones(30)), Euclidean(), 1.0),
        UTurnProblem("normal, scales 0.1 to 1, Euclidean", normal(jnp.geomspace(0.1, 1.0, 50)), Euclidean(), 0.15),
        UTurnProblem("German credit, Euclidean", regression.target(), Euclidean(), 0.12),
        UTurnProblem("funnel, D = 1, Monge", funnel(1), Monge(1.0), 0.2),
        UTurnProblem("banana, Monge", banana(), Monge(0.5), 0.2),
        UTurnProblem("ring, Monge", ring(), Monge(0.5), 0.3),
        UTurnProblem("Neal's funnel, D = 9, Fisher", neal_funnel(9), Fisher(neal_funnel(9).information), 0.6),
        UTurnProblem("banana, Fisher", banana(), Fisher(banana().information), 0.6),
    ]


def efficiency(problem: UTurnProblem, rule: Rule, draws: int, shrink: float, seed: int) -> float:
    """Smallest effective sample size per 1000 gradient-equivalents, at a fraction of the problem's step size."""
    settings = {"metric": problem.metric, "step_size": shrink * problem.step_size}
    return sampled_efficiency(problem.target, seed, draws, warmup=draws // 5, trajectory=NUTS(u_turn=rule), **settings)


def run(draws: int = 2000, seeds: Sequence[int] = (0, 1)) -> dict[str, float]:
    """Print the table; return the geometric mean of each rule relative to the best of each problem."""
    rules: tuple[Rule, ...] = get_args(Rule)
    rows, relative = [], []
    for problem in problems():
        found = [best_efficiency(partial(efficiency, problem, rule, draws), STEPS, seeds)[0] for rule in rules]
        relative.append(np.log(found) - np.log(max(found)))
        rows.append((problem.name, *(f"{value:.3g}" for value in found)))
    means = np.exp(np.mean(relative, axis=0))
    worst = np.exp(np.min(relative, axis=0))
    print_table(
        f"Smallest effective sample size per 1000 gradient-equivalents, best step size, median of {len(seeds)} seeds",
        ("", *rules),
        [
            *rows,
            ("geometric mean, relative to the best of each line", *(f"{mean:.2f}" for mean in means)),
            ("worst, relative to the best of each line", *(f"{least:.2f}" for least in worst)),
        ],
    )
    return dict(zip(rules, map(float, means), strict=True))
