"""The compiled part of a run: some draws of all chains, in lockstep."""

from functools import cache
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, PRNGKey
from mongepatch.chains.pace import Pace
from mongepatch.kernels import Info, Kernel, State
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD
from mongepatch.metrics import Metric
from mongepatch.program import Program, jit
from mongepatch.trajectories import Trajectory

P = TypeVar("P", bound=Pace)


class Settings(NamedTuple):
    """What a kernel is run with, but for the step size; all traced, so that changing it never recompiles."""

    metric: Metric
    trajectory: Trajectory | None
    divergence_threshold: float = DIVERGENCE_THRESHOLD


class Rows(NamedTuple):
    """Draws and what there is to know of them, with leading axes (draw, chain)."""

    position: jax.Array
    gradient: jax.Array
    info: Info


def run_chunk(
    key: PRNGKey,
    states: State,
    pace: P,
    first: Count | int,
    count: Count | int,
    density: Program,
    settings: Settings,
    *,
    kernel: Kernel,
    capacity: int,
) -> tuple[State, P, Rows]:
    """Make the draws number `first` to `first + count` of every chain; rows past `count` are zero.

    The randomness of a draw depends on the key and the numbers of the draw and its chain, never on how a run was cut
    into chunks. Chains in lockstep share the number of steps of each trajectory, so that none waits for another.
    """
    made: tuple[State, P, Rows] = _compiled()(
        key, states, pace, first, count, density, settings, kernel=kernel, capacity=capacity
    )
    return made


@cache
def _compiled() -> Any:
    return jit(_chunk, static_argnames=("kernel", "capacity"))


def _chunk(
    key: PRNGKey,
    states: State,
    pace: P,
    first: Count,
    count: Count,
    density: Program,
    settings: Settings,
    *,
    kernel: Kernel,
    capacity: int,
) -> tuple[State, P, Rows]:
    chain_key, length_key = jax.random.split(key)
    chains = states.logdensity.shape[0]

    def draw(number: Count, states: State, pace: P) -> tuple[State, P, Rows]:
        fold = jax.vmap(jax.random.fold_in, (None, 0))
        keys = fold(jax.random.fold_in(chain_key, number), jnp.arange(chains))
        shared_key = jax.random.fold_in(length_key, number)

        def step(key: PRNGKey, state: State) -> tuple[State, Info]:
            return kernel.step(
                key,
                state,
                density,
                settings.metric,
                pace.step_size,
                settings.trajectory,
                length_key=shared_key,
                divergence_threshold=settings.divergence_threshold,
            )

        states, info = jax.vmap(step)(keys, states)
        rows = Rows(states.point.position, states.point.gradient, info)
        # A tree that NUTS gave up moves nothing, however probable its leaves were: far out they all are.
        acceptance = jnp.where(info.diverging & ~info.accepted, 0.0, info.acceptance_rate)
        return states, pace.after(acceptance), rows

    def body(i: Count, carry: tuple[State, P, Rows]) -> tuple[State, P, Rows]:
        states, pace, rows = carry
        states, pace, row = draw(first + i, states, pace)
        return states, pace, jax.tree.map(lambda buffer, entry: buffer.at[i].set(entry), rows, row)

    shapes = jax.eval_shape(draw, first, states, pace)[2]
    empty: Any = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), shapes)
    result: tuple[State, P, Rows] = jax.lax.fori_loop(0, count, body, (states, pace, empty))
    return result


def compiled_programs() -> int:
    """How many samplers have been compiled so far."""
    return int(_compiled()._cache_size())  # jit's own count, which has no other name
