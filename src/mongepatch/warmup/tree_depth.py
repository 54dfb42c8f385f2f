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
from mongepatch.trajectories import NUTS, NUTSOrStatic, nuts_of

MANY_CHAINS = 256
"""Chains from which on a few draws of all of them tell enough."""
_FIRST_DEPTH, _LEAST_DEPTH = 6, 5
"""The limit before there are any draws, and the lowest later."""
_SPARE_DEPTH = 2
"""By how much trees may be deeper than one of the mean number of steps."""


def limits_depth(trajectory: Any, density: LogDensity, chains: int) -> bool:
    """Whether warm-up limits the depth of trees: not where the user does."""
    nuts = nuts_of(trajectory)
    may_be_limited = nuts is not None and nuts.depth_limit is None
    return may_be_limited and (chains >= MANY_CHAINS or isinstance(density, WhitenedDensity))


def with_depth_limit(trajectory: Any, n_steps: np.ndarray | None = None) -> Any:
    """The trajectory with a limit that suits trees of these numbers of steps; unchanged where there are no trees."""
    depth = _FIRST_DEPTH
    if n_steps is not None:
        depth = max(_LEAST_DEPTH, int(np.ceil(np.log2(n_steps.mean() + 1.0))) + _SPARE_DEPTH)
    return _limited(trajectory, depth)


def with_full_depth(trajectory: Any) -> Any:
    """The trajectory with its own limit, in a form that does not compile again."""
    return _limited(trajectory, None)


def _limited(trajectory: Any, depth: int | None) -> Any:
    """The trajectory with another limit of its trees; None for its own."""
    if isinstance(trajectory, NUTSOrStatic):
        return replace(trajectory, nuts=_limited(trajectory.nuts, depth))
    if not isinstance(trajectory, NUTS):
        return trajectory
    most = trajectory.max_depth
    return replace(trajectory, depth_limit=on_device(most if depth is None else min(depth, most), np.int32))
