"""Two ways to choose α: a tournament by effective draws, and the largest curvature."""

from collections.abc import Sequence
from typing import Any

from mongepatch import datasets
from mongepatch.chains import Runner, Tuning
from mongepatch.kernels import LMC
from mongepatch.metrics import Monge
from mongepatch.paper.console import print_table
from mongepatch.sampling.prepare import prepare
from mongepatch.sampling.progress import progress_report
from mongepatch.targets import Target, funnel
from mongepatch.trajectories import NUTS
from mongepatch.warmup import DEFAULT_ACCEPTANCE, WarmupState, parse_tuning
from mongepatch.warmup.choose_metric import monge_alpha
from mongepatch.warmup.curvature import curvature_of
from mongepatch.warmup.efficiency import Trial, hill_climb, try_tuning
from mongepatch.warmup.schedule import adapt_step_size_and_mass

ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Values in the tournament, which starts in the middle and moves to the better side."""
ADAPTATION, TRIAL, TRIALS = 350, 60, 4
"""Draws before either, draws of each trial, and number of trials."""
MARGIN = 1.2
"""Factor by which another α must be more efficient than α = 0 to win."""


def adapted(target: Target, seed: int) -> WarmupState:
    """Chains in the Euclidean metric with NUTS that know their step size and M."""
    prepared = prepare(target, seed=seed)
    tuning, to_find = parse_tuning("euclidean", NUTS(), LMC(), target.dimension)
    tuning = tuning._replace(metric=prepared.fitted(tuning.metric))
    with progress_report(0, 0, prepared.chains, show=False) as report:
        runner = Runner(prepared.keys.run, prepared.density, LMC(), report)
    points = prepared.initial_points(tuning.metric)
    state = WarmupState.begin(runner, points, tuning, prepared.keys.tune, step_size=None, acceptance=DEFAULT_ACCEPTANCE)
    adapt_step_size_and_mass(state, to_find, ADAPTATION)
    return state


def by_curvature(state: WarmupState) -> float:
    """α as warm-up chooses it."""
    metric: Any = state.tuning.metric
    return monge_alpha(curvature_of(state.recent_positions(), state.runner.density, metric.inverse_mass))[0]


def by_tournament(state: WarmupState) -> float:
    """The α with the most effective draws per gradient-equivalent in short runs."""
    flat: Any = state.tuning.metric
    zero = try_tuning(state, state.tuning, TRIAL)

    def try_alpha(alpha: float) -> Trial:
        return try_tuning(state, Tuning(Monge(alpha, flat.inverse_mass), NUTS()), TRIAL)

    best = hill_climb(ALPHAS, len(ALPHAS) // 2, try_alpha, TRIALS)
    wins = best.efficiency.ess_per_gradient > MARGIN * zero.efficiency.ess_per_gradient
    return float(best.tuning.metric.alpha) if wins else 0.0


def run(seeds: Sequence[int] = range(5)) -> dict[str, list[float]]:
    """Print the choices of both on funnels and regressions; return those by curvature."""
    targets = {f"funnel, D = {dimension}": funnel(dimension) for dimension in (1, 3, 10)}
    targets |= {name: datasets.load(name).target() for name in ("heart", "german")}
    rows, found = [], {}
    for name, target in targets.items():
        states = [adapted(target, seed) for seed in seeds]
        found[name] = [by_curvature(state) for state in states]
        tournament = [by_tournament(state) for state in states]
        rows.append((name, *(" ".join(f"{alpha:.2g}" for alpha in alphas) for alphas in (found[name], tournament))))
    print_table(
        f"α for {len(seeds)} seeds",
        ("", "by curvature", "by a tournament"),
        rows,
        [f"After {ADAPTATION} draws of NUTS in the Euclidean metric; a tournament takes {TRIALS} × {TRIAL} more."],
    )
    return found
