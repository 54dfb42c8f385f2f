"""The compiled part of a run: some draws of all chains, in lockstep."""

from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, LogDensity, Positions, PRNGKey, Scalar, ScalarLike
from mongepatch.kernels import Info, Kernel, Setup, draw
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD
from mongepatch.metrics import Metric
from mongepatch.program import jit
from mongepatch.trajectories import Trajectory


class StepSizePolicy(Protocol):
    """Where the step size comes from, which may change from draw to draw. A pytree."""

    @property
    def step_size(self) -> Scalar:
        """ε of the next draw of every chain."""

    def update(self, acceptance: jax.Array) -> Any:
        """The policy for the next draw, given the acceptance rate of every chain in this one."""


P = TypeVar("P", bound=StepSizePolicy)


class Tuning(NamedTuple):
    """The tuning parameters of a kernel, but for the step size; all traced, so that changing them never recompiles."""

    metric: Metric
    trajectory: Trajectory | None
    divergence_threshold: ScalarLike = DIVERGENCE_THRESHOLD


class Chunk(NamedTuple):
    """Draws and what there is to know of them, with leading axes (draw, chain)."""

    position: jax.Array
    """In the model's own coordinates."""
    internal: jax.Array
    """In the coordinates that chains move in, which may be others."""
    gradient: jax.Array
    """Of the log density in these."""
    info: Info


@partial(jit, static_argnames=("kernel", "capacity"))
def run_chunk(
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
        fold = jax.vmap(jax.random.fold_in, (None, 0))
        keys = fold(jax.random.fold_in(chain_key, number), jnp.arange(chains))
        shared_key = jax.random.fold_in(length_key, number)
        step_size = jnp.asarray(policy.step_size, points.position.dtype)
        setup = Setup(density, tuning.metric, step_size, tuning.trajectory, tuning.divergence_threshold)
        points, info = jax.vmap(lambda key, point: draw(kernel, key, point, setup, shared_key))(keys, points)
        # A tree that NUTS gave up moves nothing, however probable its leaves were: far out they all are.
        acceptance = jnp.where(info.diverging & ~info.accepted, 0.0, info.acceptance_rate)
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


def compiled_programs() -> int:
    """How many samplers have been compiled so far."""
    return int(run_chunk._cache_size())  # jit's own count, which has no other name


@jit
def points_at(positions: Positions, density: LogDensity, metric: Metric) -> Any:
    """The points of chains at flat positions [chain, dimension]; needed anew whenever the metric has changed."""
    return jax.vmap(lambda position: metric.at(density, position)[0])(positions)
