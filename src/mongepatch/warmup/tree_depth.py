"""The depth of trees while chains warm up, where deep ones take time and tell little.

The deepest tree of thousands of chains is one. So are the first trees in whitened coordinates: before anything is known
of the data, a coordinate with a wide prior may be ten thousand times too long.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mongepatch._arrays import on_device
from mongepatch._typing import LogDensity
from mongepatch.coordinates import WhitenedDensity
from mongepatch.trajectories import NUTS

MANY_CHAINS = 256
"""Chains from which on a few draws of all of them tell enough."""
_FIRST_DEPTH, _LEAST_DEPTH = 6, 5
"""The limit before there are any draws, and the lowest later."""
_SPARE_DEPTH = 2
"""By how much trees may be deeper than one of the mean number of steps."""


def limits_depth(trajectory: Any, density: LogDensity, chains: int) -> bool:
    """Whether warm-up limits the depth of trees: not where the user does."""
    may_be_limited = isinstance(trajectory, NUTS) and trajectory.depth_limit is None
    return may_be_limited and (chains >= MANY_CHAINS or isinstance(density, WhitenedDensity))


def with_depth_limit(trajectory: Any, n_steps: np.ndarray | None = None) -> Any:
    """The trajectory with a limit that suits trees of these numbers of steps; unchanged where there are no trees."""
    if not isinstance(trajectory, NUTS):
        return trajectory
    depth = _FIRST_DEPTH
    if n_steps is not None:
        depth = max(_LEAST_DEPTH, int(np.ceil(np.log2(n_steps.mean() + 1.0))) + _SPARE_DEPTH)
    return replace(trajectory, depth_limit=on_device(min(depth, trajectory.max_depth), np.int32))


def with_full_depth(trajectory: Any) -> Any:
    """The trajectory with its own limit, in a form that does not compile again."""
    if not isinstance(trajectory, NUTS):
        return trajectory
    return replace(trajectory, depth_limit=on_device(trajectory.max_depth, np.int32))
