"""Some draws of all chains, in lockstep: each draw begins when the last chain has ended the one before."""

from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, LogDensity, PRNGKey
from mongepatch.chains.draws import Chunk, StepSizePolicy, Tuning, acceptance_of, draw_keys, setup_of
from mongepatch.kernels import Kernel, draw
from mongepatch.program import jit

P = TypeVar("P", bound=StepSizePolicy)


@partial(jit, static_argnames=("kernel", "capacity"))
def run_in_lockstep(
    key: PRNGKey,
    points: Any,
    policy: P,
    first: Count,
    count: Count,
    density: LogDensity,
    tuning: Tuning,
    *,
    kernel: Kernel,
    capacity: int,
) -> tuple[Any, P, Chunk]:
    """Make the draws number `first` to `first + count` of every chain; rows past `count` are zero.

    The randomness of a draw depends on the key and the numbers of the draw and its chain, never on how a run was cut
    into chunks. Chains in lockstep share the number of steps of each trajectory, so that none waits for another. A
    density in other coordinates than the model's has a method `to_model_with_log_det`; `lp` is the model's.
    """
    chain_key, length_key = jax.random.split(key)
    chains = points.logdensity.shape[0]

    def draw_all(number: Count, points: Any, policy: P) -> tuple[Any, P, Chunk]:
        keys = draw_keys(chain_key, jnp.full(chains, number))
        shared_key = jax.random.fold_in(length_key, number)
        setup = setup_of(policy.step_size, points, density, tuning)
        points, info = jax.vmap(lambda key, point: draw(kernel, key, point, setup, shared_key))(keys, points)
        acceptance = acceptance_of(info)
        position = internal = points.position
        if hasattr(density, "to_model_with_log_det"):
            position, log_det = jax.vmap(density.to_model_with_log_det)(internal)
            info = info._replace(lp=info.lp - log_det)
        return points, policy.update(acceptance), Chunk(position, internal, points.gradient, info)

    def body(i: Count, carry: tuple[Any, P, Chunk]) -> tuple[Any, P, Chunk]:
        points, policy, rows = carry
        points, policy, row = draw_all(first + i, points, policy)
        return points, policy, jax.tree.map(lambda buffer, entry: buffer.at[i].set(entry), rows, row)

    shapes = jax.eval_shape(draw_all, first, points, policy)[2]
    empty: Any = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), shapes)
    result: tuple[Any, P, Chunk] = jax.lax.fori_loop(0, count, body, (points, policy, empty))
    return result
