"""Some draws of all chains, in lockstep: each draw begins when the last chain has ended the one before."""

from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.core import eval_jaxpr
from jax.sharding import Mesh

from mongepatch._typing import Count, LogDensity, PRNGKey
from mongepatch.chains.draws import Chunk, StepSizePolicy, Tuning, acceptance_of, draw_keys, setup_of
from mongepatch.chains.placement import of_all_chains, on_each_device
from mongepatch.kernels import Kernel, draw
from mongepatch.metrics import for_many_steps
from mongepatch.program import jit

P = TypeVar("P", bound=StepSizePolicy)


@partial(jit, static_argnames=("kernel", "capacity", "mesh"), quick=True)
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
    numbers: jax.Array | None = None,
    adapts: bool | jax.Array = True,
    mesh: Mesh | None = None,
) -> tuple[Any, P, Chunk]:
    """Make the draws number `first` to `first + count` of every chain; rows past `count`, of `capacity`, are zero.

    The randomness of a draw depends on the key and the numbers of the draw and its chain, never on how a run was cut
    into chunks. Chains in lockstep share the number of steps of each trajectory, so that none waits for another. A
    density in other coordinates than the model's has a method `to_model_with_log_det`; `lp` is the model's.

    Args:
        key: randomness of the run.
        points: where chains are.
        policy: where the step size comes from.
        first: number of the first draw.
        count: how many draws to make, at most `capacity`.
        density: the log density.
        tuning: tuning parameters.
        kernel: how chains move.
        capacity: rows of the result.
        numbers: the numbers of the chains; by default from 0 on.
        adapts: whether the policy does; one that does not needs no exchange between devices.
        mesh: devices that chains are divided among.
    """
    numbers = jnp.arange(points.logdensity.shape[0]) if numbers is None else numbers

    def run(points: Any, numbers: jax.Array, shared: Any) -> tuple[Any, P, Chunk]:
        return _run(points, numbers, *shared, kernel=kernel, capacity=capacity, mesh=mesh)

    shared = (key, policy, first, count, density, tuning, adapts)
    made: tuple[Any, P, Chunk] = on_each_device(run, mesh, points, numbers, shared, (True, False, None))
    return made


def _run(
    points: Any,
    chains: jax.Array,
    key: PRNGKey,
    policy: P,
    first: Count,
    count: Count,
    density: LogDensity,
    tuning: Tuning,
    adapts: Any,
    *,
    kernel: Kernel,
    capacity: int,
    mesh: Mesh | None,
) -> tuple[Any, P, Chunk]:
    """The draws of the chains of one device."""
    chain_key, length_key = jax.random.split(key)
    tuning = tuning._replace(metric=for_many_steps(tuning.metric))

    def draw_all(number: Count, points: Any, policy: P) -> tuple[Any, P, Chunk]:
        keys = draw_keys(chain_key, jnp.full(chains.size, number), chains)
        shared_key = jax.random.fold_in(length_key, number)
        setup = setup_of(policy.step_size, points, density, tuning)
        points, info = jax.vmap(lambda key, point: draw(kernel, key, point, setup, shared_key))(keys, points)
        acceptance = of_all_chains(acceptance_of(info), mesh, adapts)
        position = internal = points.position
        if hasattr(density, "to_model_with_log_det"):
            position, log_det = jax.vmap(density.to_model_with_log_det)(internal)
            info = info._replace(lp=info.lp - log_det)
        return points, policy.update(acceptance), Chunk(position, internal, points.gradient, info)

    # The program of a draw is traced once: its shapes are asked for here, and its operations are repeated in the loop.
    program, (_, _, shapes) = jax.make_jaxpr(draw_all, return_shape=True)(first + count, points, policy)
    number_type = program.in_avals[0].dtype

    def body(i: Count, carry: tuple[Any, P, Chunk]) -> tuple[Any, P, Chunk]:
        points, policy, rows = carry
        number = (first + i).astype(number_type)
        values = eval_jaxpr(program.jaxpr, program.consts, number, *jax.tree.leaves((points, policy)))
        points, policy, row = jax.tree.unflatten(jax.tree.structure((points, policy, shapes)), values)
        # There is room for each row, since `count` is at most `capacity`: `at[i].set` would look whether there is.
        put = partial(jax.lax.dynamic_update_index_in_dim, index=i, axis=0)
        return points, policy, jax.tree.map(put, rows, row)

    empty: Any = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), shapes)
    result: tuple[Any, P, Chunk] = jax.lax.fori_loop(0, count, body, (points, policy, empty))
    return result
