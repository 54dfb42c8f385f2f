"""Compilation ahead of need: XLA compiles the sampler in a thread of its own, while the host looks for starting points.

Tracing holds Python's lock and stays where it is. What XLA does with the traced program takes longer and does not.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax

from mongepatch._typing import LogDensity, PRNGKey
from mongepatch.chains.chunks import capacity_of, goes_at_own_pace, points_at
from mongepatch.chains.draws import StepSizePolicy, Tuning
from mongepatch.chains.lockstep import run_in_lockstep
from mongepatch.chains.placement import Placement
from mongepatch.kernels import Kernel

_compiler = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mongepatch-compiler")


def compile_ahead(
    key: PRNGKey,
    positions: jax.ShapeDtypeStruct,
    density: LogDensity,
    tuning: Tuning,
    policy: StepSizePolicy,
    kernel: Kernel,
    placement: Placement,
) -> "Future[Any] | None":
    """Begin to compile the sampler of chains at positions [chain, dimension]; None for many, whose limits change.

    A `Runner` that has the future waits for it, and finds the program compiled. An error is raised there again, by
    the call that needs the program.
    """
    chains = positions.shape[0]
    if goes_at_own_pace(kernel, tuning, chains // placement.devices):
        return None
    points = placement.shapes(jax.eval_shape(points_at, positions, density, tuning.metric))
    where = {"numbers": placement.numbers(chains), "adapts": policy.adapts, "mesh": placement.mesh}
    what = {"kernel": kernel, "capacity": capacity_of(positions)}
    lowered = run_in_lockstep.lower(key, points, placement.shared(policy), 0, 0, density, tuning, **what, **where)
    return _compiler.submit(lowered.compile)
