"""Some draws of all chains, each at its own pace: a chain that has ended a draw begins its next one.

All chains make a step at a time, each of its own draw and at its own place in it. (With `jax.vmap` over a draw, every
draw costs as many steps as the longest among all chains.) Dance et al. describe the idea for several samplers.

Reference: Dance, H., Glaser, P., Orbanz, P. and Adams, R. P. (2025). Efficiently vectorized MCMC on modern
accelerators. Proceedings of the 42nd International Conference on Machine Learning, PMLR 267.
"""

from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from mongepatch._typing import Count, LogDensity, PRNGKey
from mongepatch.chains.draws import Chunk, StepSizePolicy, Tuning, acceptance_of, draw_keys, setup_of
from mongepatch.chains.placement import of_all_chains, on_each_device
from mongepatch.kernels import Info, Setup, SteppedKernel, drawn
from mongepatch.program import jit

P = TypeVar("P", bound=StepSizePolicy)

MAX_WAITING = 0.5
"""Fraction of the chains that may wait for their next draw to begin. To begin draws costs about as much as a step,
however few chains do."""
MAX_TURNING = 0.25
"""Fraction of the chains in a trajectory that may wait for its next turn, which costs about half as much."""


class _Rows(NamedTuple):
    """What a draw leaves behind, with leading axes (draw, chain)."""

    position: jax.Array
    gradient: jax.Array
    info: Info


class _Progress(NamedTuple):
    """Where each chain is."""

    points: Any
    """Its last draw."""
    growing: Any
    """Its present draw, between two steps."""
    begins: jax.Array
    """Whether that is still to begin."""
    made: jax.Array
    """Its draws so far."""
    rows: _Rows
    steps: Count
    """Steps that all chains have made at once."""


@partial(jit, static_argnames=("kernel", "capacity", "mesh"), loops=True)
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
    numbers: jax.Array | None = None,
    adapts: bool | jax.Array = True,
    mesh: Mesh | None = None,
) -> tuple[Any, P, Chunk, jax.Array]:
    """The draws of `run_in_lockstep`, in one loop of single steps; and the number of steps that all made at once.

    A chain that has made `together` draws waits for the others, and the policy sees the last draw of each. With a
    policy that adapts, `together` must be 1. Randomness is that of `run_in_lockstep`, so that draws differ from its
    draws by rounding alone. Other arguments are those of `run_in_lockstep`; steps are those of each device.
    """
    numbers = jnp.arange(points.logdensity.shape[0]) if numbers is None else numbers

    def run(points: Any, numbers: jax.Array, shared: Any) -> tuple[Any, P, Chunk, jax.Array]:
        return _run(points, numbers, *shared, kernel=kernel, capacity=capacity, mesh=mesh)

    shared = (key, policy, first, count, together, density, tuning, adapts)
    points, policy, chunk, steps = on_each_device(run, mesh, points, numbers, shared, (True, False, None, True))
    return points, policy, chunk, steps.sum()


def _run(
    points: Any,
    numbers: jax.Array,
    key: PRNGKey,
    policy: P,
    first: Count,
    count: Count,
    together: Count,
    density: LogDensity,
    tuning: Tuning,
    adapts: Any,
    *,
    kernel: SteppedKernel,
    capacity: int,
    mesh: Mesh | None,
) -> tuple[Any, P, Chunk, jax.Array]:
    """The draws of the chains of one device."""
    chain_key, _ = jax.random.split(key)
    chains = points.logdensity.shape[0]

    def block(carry: tuple[_Progress, Any]) -> tuple[_Progress, Any]:
        progress, policy = carry
        end = jnp.minimum(progress.made[0] + together, count)
        setup = setup_of(policy.step_size, points, density, tuning)
        begins = jnp.ones(chains, bool)
        progress = _draw_until(end, progress._replace(begins=begins), chain_key, first, numbers, setup, kernel)
        last = jax.tree.map(lambda row: row[end - 1], progress.rows.info)
        return progress, policy.update(of_all_chains(acceptance_of(last), mesh, adapts))

    start = _nothing_yet(points, setup_of(policy.step_size, points, density, tuning), kernel, capacity)
    progress, policy = jax.lax.while_loop(lambda carry: carry[0].made[0] < count, block, (start, policy))
    return progress.points, policy, _chunk(progress.rows, density, count), progress.steps[None]


def _draw_until(
    end: Count,
    progress: _Progress,
    chain_key: PRNGKey,
    first: Count,
    numbers: jax.Array,
    setup: Setup,
    kernel: SteppedKernel,
) -> _Progress:
    """Make draws until every chain has made `end` of them."""
    begin: Any = jax.vmap(lambda key, point: kernel.begin(key, point, setup))
    goes_on: Any = jax.vmap(lambda growing: kernel.goes_on(growing, setup))
    has_step: Any = jax.vmap(lambda growing: kernel.has_step(growing, setup))
    extend: Any = jax.vmap(lambda growing: kernel.extend(growing, setup))
    turn: Any = jax.vmap(lambda growing: kernel.turn(growing, setup))
    replaced: Any = jax.vmap(lambda growing, condition, other: growing.replaced(condition, other))

    def steps_and_turn(carry: tuple[Any, Count]) -> tuple[Any, Count]:
        """Steps while most chains that go on have one to make, then the turns of all others."""
        going = goes_on(carry[0]).sum()
        growing, steps = jax.lax.while_loop(
            lambda carry: _few_wait(has_step(carry[0]).sum(), going, MAX_TURNING),
            lambda carry: (extend(carry[0]), carry[1] + 1),
            carry,
        )
        return turn(growing), steps

    def advance(progress: _Progress) -> _Progress:
        fresh = begin(draw_keys(chain_key, first + progress.made, numbers), progress.points)
        growing = replaced(progress.growing, progress.begins, fresh)
        unfinished = (progress.made < end).sum()
        growing, steps = jax.lax.while_loop(
            lambda carry: _few_wait(goes_on(carry[0]).sum(), unfinished, MAX_WAITING),
            steps_and_turn,
            (growing, progress.steps),
        )
        ended = ~goes_on(growing) & (progress.made < end)
        points, row = _finish(growing, setup, kernel)
        rows = _written(progress.rows, ended, progress.made, row)
        points = jax.tree.map(lambda new, old: _where(ended, new, old), points, progress.points)
        made = progress.made + ended
        return _Progress(points, growing, ended & (made < end), made, rows, steps)

    return jax.lax.while_loop(lambda progress: (progress.made < end).any(), advance, progress)


def _few_wait(moving: Count, all_: Count, most: float) -> Any:
    """Whether of some chains a few at most do not move, and some do."""
    return (moving > 0) & (all_ - moving <= most * all_)


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


def _where(condition: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    """One of two values for each chain."""
    return jnp.where(condition.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def _nothing_yet(points: Any, setup: Setup, kernel: SteppedKernel, capacity: int) -> _Progress:
    """Chains that have made no draw, with room for what they will."""
    chains = points.logdensity.shape[0]
    keys = jax.eval_shape(lambda: draw_keys(jax.random.key(0), *jnp.zeros((2, chains), jnp.int32)))

    def shapes(keys: Any, points: Any) -> Any:
        growing = jax.vmap(lambda key, point: kernel.begin(key, point, setup))(keys, points)
        return growing, _finish(growing, setup, kernel)[1]

    growing, rows = jax.eval_shape(shapes, keys, points)
    return _Progress(
        points,
        jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), growing),
        jnp.ones(chains, bool),
        jnp.zeros(chains, jnp.int32),
        jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), rows),
        jnp.zeros((), jnp.int32),
    )


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
