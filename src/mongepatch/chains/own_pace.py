"""The compiled part of a run whose chains do not wait for each other: each makes a step at a time, of its own draw."""

from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, LogDensity, PRNGKey
from mongepatch.chains.draws import Chunk, StepSizePolicy, Tuning, acceptance_of, draw_keys, setup_of
from mongepatch.kernels import Info, Setup, SteppedKernel, drawn
from mongepatch.program import jit

P = TypeVar("P", bound=StepSizePolicy)

_MAX_WAITING = 0.25
"""Fraction of the chains that may wait for their next draw to begin. To begin one costs about as much as a step, for
all chains at once."""


class _Rows(NamedTuple):
    """What a draw leaves behind, with leading axes (draw, chain)."""

    position: jax.Array
    gradient: jax.Array
    info: Info


class _Progress(NamedTuple):
    """Where each chain is."""

    growing: Any
    """Its present draw, between two steps."""
    made: jax.Array
    """Its draws so far in this chunk."""
    rows: _Rows
    steps: Count
    """Steps that all chains have made at once."""


@partial(jit, static_argnames=("kernel", "capacity"))
def run_at_own_pace(
    key: PRNGKey,
    points: Any,
    policy: P,
    first: Count,
    count: Count,
    together: Count,
    density: LogDensity,
    tuning: Tuning,
    *,
    kernel: SteppedKernel,
    capacity: int,
) -> tuple[Any, P, Chunk, Count]:
    """The draws of `run_in_lockstep`, in one loop of single steps; and the number of steps that all made at once.

    A chain that ends a draw begins its next one, until it has made `together` of them. Then it waits for the others,
    and the policy sees the last draw of each. With a policy that adapts, `together` must be 1. Randomness is that of
    `run_in_lockstep`, so that draws differ from its draws by rounding alone.
    """
    chain_key, _ = jax.random.split(key)
    chains = points.logdensity.shape[0]

    def block(carry: tuple[Any, P, _Rows, Count, Count]) -> tuple[Any, P, _Rows, Count, Count]:
        points, policy, rows, made, steps = carry
        setup = setup_of(policy, points, density, tuning)
        end = jnp.minimum(made + together, count)
        progress = _Progress(
            _begin(draw_keys(chain_key, first + made, chains), points, setup, kernel),
            jnp.full(chains, made),
            rows,
            steps,
        )
        progress = _draw_until(progress, end, chain_key, first, setup, kernel)
        points, _ = _finish(progress.growing, setup, kernel)
        last = jax.tree.map(lambda row: row[end - 1], progress.rows.info)
        return points, policy.update(acceptance_of(last)), progress.rows, end, progress.steps

    rows = _empty_rows(points, setup_of(policy, points, density, tuning), kernel, capacity)
    zero = jnp.zeros((), jnp.int32)
    points, policy, rows, _, steps = jax.lax.while_loop(
        lambda carry: carry[3] < count, block, (points, policy, rows, zero, zero)
    )
    return points, policy, _chunk(rows, density, count), steps


def _draw_until(
    progress: _Progress, end: Count, chain_key: PRNGKey, first: Count, setup: Setup, kernel: SteppedKernel
) -> _Progress:
    """Make draws until every chain has made `end` of them."""
    goes_on: Any = jax.vmap(lambda growing: kernel.goes_on(growing, setup))
    extend: Any = jax.vmap(lambda growing: kernel.extend(growing, setup))

    def advance(progress: _Progress) -> _Progress:
        unfinished = (progress.made < end).sum()

        def few_wait(carry: tuple[Any, Count]) -> Any:
            growing = goes_on(carry[0]).sum()
            return (growing > 0) & (unfinished - growing <= _MAX_WAITING * unfinished)

        growing, steps = jax.lax.while_loop(
            few_wait, lambda carry: (extend(carry[0]), carry[1] + 1), (progress.growing, progress.steps)
        )
        ended = ~goes_on(growing) & (progress.made < end)
        points, row = _finish(growing, setup, kernel)
        rows = _written(progress.rows, ended, progress.made, row)
        made = progress.made + ended
        fresh = _begin(draw_keys(chain_key, first + made), points, setup, kernel)
        growing = jax.vmap(lambda one, condition, other: one.replaced(condition, other))(
            growing, ended & (made < end), fresh
        )
        return _Progress(growing, made, rows, steps)

    return jax.lax.while_loop(lambda progress: (progress.made < end).any(), advance, progress)


def _begin(keys: PRNGKey, points: Any, setup: Setup, kernel: SteppedKernel) -> Any:
    """The next draw of every chain, before its first step."""
    return jax.vmap(lambda key, point: kernel.begin(key, point, setup))(keys, points)


def _finish(growing: Any, setup: Setup, kernel: SteppedKernel) -> tuple[Any, _Rows]:
    """The points of the draws of all chains, and what they leave behind; meaningless for those that have not ended."""
    points, info = jax.vmap(lambda growing: drawn(kernel.finish(growing, setup), setup))(growing)
    return points, _Rows(points.position, points.gradient, info)


def _written(rows: _Rows, condition: jax.Array, number: jax.Array, row: _Rows) -> _Rows:
    """The rows with an entry of each chain for which the condition holds, at the number of its draw."""
    chains = jnp.arange(condition.size)

    def write(buffer: jax.Array, entry: jax.Array) -> jax.Array:
        place = jnp.where(condition, number, buffer.shape[0])  # past the end, where nothing is written
        return buffer.at[place, chains].set(entry, mode="drop")

    written: _Rows = jax.tree.map(write, rows, row)
    return written


def _empty_rows(points: Any, setup: Setup, kernel: SteppedKernel, capacity: int) -> _Rows:
    keys = jax.eval_shape(lambda: draw_keys(jax.random.key(0), jnp.int32(0), points.logdensity.shape[0]))
    shapes = jax.eval_shape(
        lambda keys, points: _finish(_begin(keys, points, setup, kernel), setup, kernel)[1], keys, points
    )
    empty: _Rows = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), shapes)
    return empty


def _chunk(rows: _Rows, density: LogDensity, count: Count) -> Chunk:
    """The rows with positions in the model's own coordinates."""
    if not hasattr(density, "to_model_with_log_det"):
        return Chunk(rows.position, rows.position, rows.gradient, rows.info)

    def place(i: Count, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        positions, lp = carry
        position, log_det = jax.vmap(density.to_model_with_log_det)(rows.position[i])
        return positions.at[i].set(position), lp.at[i].add(-log_det)

    position, lp = jax.lax.fori_loop(0, count, place, (jnp.zeros_like(rows.position), rows.info.lp))
    return Chunk(position, rows.position, rows.gradient, rows.info._replace(lp=lp))
