"""BlackJAX's microcanonical samplers: MCLMC, which is not adjusted, and MAMS, which has a Metropolis test."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.patches.samplers import RunPlan, Sampler, SamplerOutcome, SamplerTask
from mongepatch._extras import require
from mongepatch._typing import LogDensity, PRNGKey, Vector
from mongepatch.program.stopwatch import stopwatch

STEPS_PER_DRAW = 10
"""A draw of MCLMC is kept after so many steps, each of which takes two gradients."""
ACCEPTANCE = 0.9
"""That MAMS is tuned to, as in BlackJAX's own examples."""

ChainRun = Callable[[LogDensity, PRNGKey, Vector, RunPlan], tuple[jax.Array, jax.Array]]
"""From a density, a key and an initial point: draws (draws, D), and the number of gradients."""


class _Parts(NamedTuple):
    """Keys of a chain's parts."""

    init: PRNGKey
    tune: PRNGKey
    draw: PRNGKey


def mclmc() -> Sampler:
    """MCLMC with step size, L and a diagonal preconditioner found by BlackJAX: biased, but not by much."""
    return Sampler("BlackJAX MCLMC", partial(_run, _mclmc_chain))


def mams() -> Sampler:
    """Adjusted MCLMC with random lengths, all else found by BlackJAX: exact."""
    return Sampler("BlackJAX MAMS", partial(_run, _mams_chain))


def _run(chain: ChainRun, task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
    with stopwatch() as watch:
        target = task.target
        keys = jax.random.split(jax.random.key(plan.seed), plan.chains)
        draw = jax.jit(jax.vmap(lambda key, start: chain(target.logdensity, key, start, plan)))
        positions, n_grad = jax.block_until_ready(draw(keys, task.starts(plan)))
    variables = task.variables(np.asarray(positions))
    return SamplerOutcome(variables, int(np.sum(n_grad)), watch.running, watch.compiling, None)


def _mclmc_chain(density: LogDensity, key: PRNGKey, start: Vector, plan: RunPlan) -> tuple[jax.Array, jax.Array]:
    blackjax = require("blackjax", "sample", "This peer")
    keys = _Parts(*jax.random.split(key, 3))
    steps = STEPS_PER_DRAW * plan.draws
    state, found, tuning_steps = blackjax.mclmc_find_L_and_step_size(
        mclmc_kernel=blackjax.mcmc.mclmc.build_kernel(),
        num_steps=steps,
        state=blackjax.mclmc.init(start, density, keys.init),
        rng_key=keys.tune,
        logdensity_fn=density,
    )
    algorithm = blackjax.mclmc(density, **found._asdict())

    def draw(state: Any, key: PRNGKey) -> tuple[Any, Vector]:
        def step(i: Any, state: Any) -> Any:
            return algorithm.step(jax.random.fold_in(key, i), state)[0]

        state = jax.lax.fori_loop(0, STEPS_PER_DRAW, step, state)
        return state, state.position

    positions = jax.lax.scan(draw, state, jax.random.split(keys.draw, plan.draws))[1]
    return positions, 2 * (steps + tuning_steps)


def _mams_chain(density: LogDensity, key: PRNGKey, start: Vector, plan: RunPlan) -> tuple[jax.Array, jax.Array]:
    blackjax = require("blackjax", "sample", "This peer")
    module = blackjax.mcmc.adjusted_mclmc_dynamic
    keys = _Parts(*jax.random.split(key, 3))
    kernel = module.build_kernel(integration_steps_fn=module.make_random_trajectory_length_fn(True))
    state, found, tuning_steps = blackjax.adjusted_mclmc_find_L_and_step_size(
        mclmc_kernel=kernel,
        logdensity_fn=density,
        num_steps=5 * plan.warmup,  # a fifth of these tune
        state=module.init(start, density, keys.init),
        rng_key=keys.tune,
        target=ACCEPTANCE,
    )
    settings = {
        "step_size": found.step_size,
        "inverse_mass_matrix": found.inverse_mass_matrix,
        "integration_steps_params": (found.L / found.step_size,),
    }

    def draw(state: Any, key: PRNGKey) -> tuple[Any, tuple[Vector, jax.Array]]:
        state, info = kernel(key, state, density, **settings)
        return state, (state.position, info.num_integration_steps)

    positions, lengths = jax.lax.scan(draw, state, jax.random.split(keys.draw, plan.draws))[1]
    return positions, 2 * (lengths.sum() + tuning_steps)
