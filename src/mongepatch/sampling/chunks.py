"""The compiled part of a run: some draws of all chains, in lockstep."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, PRNGKey, Scalar
from mongepatch.kernels import Info, Kernel, State
from mongepatch.metrics import Metric
from mongepatch.targets.layout import Layout
from mongepatch.targets.program import Program
from mongepatch.trajectories import Trajectory


class Settings(NamedTuple):
    """What a kernel is run with; all traced, so that changing it never recompiles."""

    metric: Metric
    step_size: Scalar
    trajectory: Trajectory | None


class Rows(NamedTuple):
    """Draws and what there is to know of them, with leading axes (draw, chain)."""

    draws: dict[str, Any]
    info: Info


@partial(jax.jit, static_argnames=("layout", "kernel", "capacity"))
def run_chunk(
    key: PRNGKey,
    states: State,
    first: Count,
    count: Count,
    density: Program,
    settings: Settings,
    *,
    layout: Layout,
    kernel: Kernel,
    capacity: int,
) -> tuple[State, Rows]:
    """Make the draws number `first` to `first + count` of every chain; rows past `count` are zero.

    The randomness of a draw depends on the key and the numbers of the draw and its chain, never on how a run was cut
    into chunks. Chains in lockstep share the number of steps of each trajectory, so that none waits for another.
    """
    chain_key, length_key = jax.random.split(key)
    chains = states.logdensity.shape[0]

    def draw(number: Count, states: State) -> tuple[State, Rows]:
        fold = jax.vmap(jax.random.fold_in, (None, 0))
        keys = fold(jax.random.fold_in(chain_key, number), jnp.arange(chains))
        shared_key = jax.random.fold_in(length_key, number)

        def step(key: PRNGKey, state: State) -> tuple[State, Info]:
            return kernel.step(key, state, density, *settings, length_key=shared_key)

        states, info = jax.vmap(step)(keys, states)
        return states, Rows(jax.vmap(layout.named)(states.position), info)

    def body(i: Count, carry: tuple[State, Rows]) -> tuple[State, Rows]:
        states, rows = carry
        states, row = draw(first + i, states)
        return states, jax.tree.map(lambda buffer, entry: buffer.at[i].set(entry), rows, row)

    shapes = jax.eval_shape(draw, first, states)[1]
    empty = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), shapes)
    result: tuple[State, Rows] = jax.lax.fori_loop(0, count, body, (states, empty))
    return result
