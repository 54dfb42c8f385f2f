"""The compiled part of a run: some draws of all chains, in lockstep or each at its own pace."""

from functools import partial
from typing import Any, TypeVar

import jax

from mongepatch._typing import LogDensity, Positions, PRNGKey
from mongepatch.chains.draws import Chunk, StepSizePolicy, Tuning
from mongepatch.chains.lockstep import run_in_lockstep
from mongepatch.chains.own_pace import run_at_own_pace
from mongepatch.chains.placement import Placement
from mongepatch.kernels import Info, Kernel, SteppedKernel
from mongepatch.metrics import Metric
from mongepatch.program import jit
from mongepatch.trajectories import SteppedTrajectory

P = TypeVar("P", bound=StepSizePolicy)

OWN_PACE_CHAINS = 128
"""Chains from which on it pays not to wait for each other: `python -m benchmarks many-chains` measures it."""


_CHUNK_DRAWS, _CHUNK_BYTES, _ACCELERATOR_BYTES = 1024, 64 * 2**20, 2**30
"""How much a chunk may hold. It does not depend on the draws asked for, so that asking for more compiles nothing.
Chains wait for the last at its end, so that on an accelerator, which has room for them, it holds more draws of many."""


def run_chunk(
    key: PRNGKey,
    points: Any,
    policy: P,
    first: int,
    count: int,
    density: LogDensity,
    tuning: Tuning,
    *,
    kernel: Kernel,
    capacity: int,
    placement: Placement,
) -> tuple[Any, P, Chunk]:
    """Make the draws number `first` to `first + count` of every chain; rows past `count` are zero.

    The randomness of a draw depends on the key and the numbers of the draw and its chain, never on how a run was cut
    into chunks. Many chains along trajectories that differ in length do not wait for each other, unless the policy must
    see a draw of all before the next. That changes times, and draws by rounding alone.
    """
    chains, adapts = len(points.logdensity), policy.adapts
    points, policy = placement.placed(points), placement.shared(policy)
    numbers, mesh = placement.numbers(chains), placement.mesh
    where = {"kernel": kernel, "capacity": capacity, "numbers": numbers, "adapts": adapts, "mesh": mesh}
    if goes_at_own_pace(kernel, tuning, chains // placement.devices):
        together = 1 if adapts else count
        points, policy, chunk, _ = run_at_own_pace(
            key, points, policy, first, count, together, density, tuning, **where
        )
    else:
        points, policy, chunk = run_in_lockstep(key, points, policy, first, count, density, tuning, **where)
    return points, policy, chunk


def goes_at_own_pace(kernel: Kernel, tuning: Tuning, chains: int) -> bool:
    """Whether so many chains of a device do not wait for each other."""
    is_stepped = isinstance(kernel, SteppedKernel) and isinstance(tuning.trajectory, SteppedTrajectory)
    return is_stepped and chains >= OWN_PACE_CHAINS


def capacity_of(positions: Any) -> int:
    """How many draws a chunk of chains at positions [chain, dimension] may hold."""
    chains, dimension = positions.shape
    room = _CHUNK_BYTES if jax.default_backend() == "cpu" else _ACCELERATOR_BYTES
    row = positions.dtype.itemsize * chains * (3 * dimension + len(Info._fields))
    return min(_CHUNK_DRAWS, max(1, room // row))


def compiled_programs() -> int:
    """How many samplers have been compiled so far."""
    # jit's own count, which has no other name
    return int(run_in_lockstep._cache_size() + run_at_own_pace._cache_size())


@partial(jit, quick=True)
def points_at(positions: Positions, density: LogDensity, metric: Metric) -> Any:
    """The points of chains at flat positions [chain, dimension]; needed anew whenever the metric has changed."""
    return jax.vmap(lambda position: metric.at(density, position)[0])(positions)
