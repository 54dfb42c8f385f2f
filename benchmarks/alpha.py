"""Two ways to choose α: a tournament by effective draws, and the largest curvature."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch import datasets
from mongepatch.chains import Runner, Settings
from mongepatch.kernels import LMC
from mongepatch.metrics import Monge, fitted
from mongepatch.paper.console import print_table
from mongepatch.program import trace_density
from mongepatch.sampling.progress import progress_report
from mongepatch.sampling.starts import starting_states
from mongepatch.targets import Target, funnel
from mongepatch.trajectories import NUTS
from mongepatch.warmup import ACCEPTANCE, Rehearsal, basics, begin
from mongepatch.warmup.alpha import alpha_for
from mongepatch.warmup.stiffness import stiffness
from mongepatch.warmup.trial import Trial, attempt, climb

ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Values in the tournament, which starts in the middle and moves to the better side."""
BASICS, TRIAL, TRIALS = 350, 60, 4
"""Draws before either, draws of each trial, and number of trials."""
MARGIN = 1.2
"""Factor by which another α must be more efficient than α = 0 to win."""


def rehearse(target: Target, seed: int, chains: int = 4) -> Rehearsal:
    """Chains in the Euclidean metric with NUTS that know their step size and M."""
    start_key, run_key, tune_key = jax.random.split(jax.random.key(seed), 3)
    position = jax.ShapeDtypeStruct((target.dimension,), jnp.result_type(float))
    settings, unknowns = begin("euclidean", NUTS(), LMC(), target.dimension)
    settings = settings._replace(metric=fitted(settings.metric, position))
    density = trace_density(target.logdensity, position)
    states = starting_states(start_key, target, density, settings.metric, None, chains, spread=1.0, per_chain=False)
    with progress_report(0, chains, show=False) as report:
        runner = Runner(run_key, density, LMC(), report)
    rehearsal = Rehearsal(runner, states, settings, tune_key, step_size=None, acceptance=ACCEPTANCE)
    basics(rehearsal, unknowns, BASICS)
    return rehearsal


def by_curvature(rehearsal: Rehearsal) -> float:
    """α as warm-up chooses it."""
    metric: Any = rehearsal.settings.metric
    return alpha_for(stiffness(rehearsal.recent_positions(), rehearsal.runner.density, metric.inverse_mass))[0]


def by_tournament(rehearsal: Rehearsal) -> float:
    """The α with the most effective draws per gradient-equivalent in short runs."""
    flat: Any = rehearsal.settings.metric
    zero = attempt(rehearsal, rehearsal.settings, TRIAL)

    def try_alpha(alpha: float) -> Trial:
        return attempt(rehearsal, Settings(Monge(alpha, flat.inverse_mass), NUTS()), TRIAL)

    best = climb(ALPHAS, len(ALPHAS) // 2, try_alpha, TRIALS)
    return float(best.settings.metric.alpha) if best.worth > MARGIN * zero.worth else 0.0


def run(seeds: Sequence[int] = range(5)) -> dict[str, list[float]]:
    """Print the choices of both on funnels and regressions; return those by curvature."""
    targets = {f"funnel, D = {dimension}": funnel(dimension) for dimension in (1, 3, 10)}
    targets |= {name: datasets.load(name).target() for name in ("heart", "german")}
    rows, found = [], {}
    for name, target in targets.items():
        rehearsals = [rehearse(target, seed) for seed in seeds]
        found[name] = [by_curvature(rehearsal) for rehearsal in rehearsals]
        tournament = [by_tournament(rehearsal) for rehearsal in rehearsals]
        rows.append((name, *(" ".join(f"{alpha:.2g}" for alpha in alphas) for alphas in (found[name], tournament))))
    print_table(
        f"α for {len(seeds)} seeds",
        ("", "by curvature", "by a tournament"),
        rows,
        [f"After {BASICS} draws of NUTS in the Euclidean metric. A tournament takes another {TRIALS} × {TRIAL} draws."],
    )
    return found
