"""Moving chains uphill that start very far out, before they are sampled.

Where ℓ is lower by millions than in the bulk, as it soon is for a log scale that is off by ten, gradients change by
many powers of ten from step to step, and no step size suits for long. There is no probability out there, so chains
first follow the gradient, for as long as ℓ rises within a unit of length by far more than it varies among draws. (In
the neck of a funnel, which has no end, ℓ rises by D/2 per unit of length.)
"""

from typing import Any

import numpy as np

from mongepatch._arrays import on_device
from mongepatch._typing import LogDensity
from mongepatch.chains import points_at
from mongepatch.metrics import Metric

_FAR = 20.0
"""A rise of ℓ by so many times the dimension is no fluctuation: among draws ℓ has a standard deviation of √(D/2)."""
_MOST_MOVES = 100
_LENGTHS = np.geomspace(1e-8, 1.0, 25)
"""Lengths of a move; the best of them is taken."""


def ascend(points: Any, density: LogDensity, metric: Metric) -> Any:
    """Points from which sampling can begin: the same, but for chains that are very far out.

    Steps are made on the host. `points_at` does the work, which is compiled already.
    """
    far = np.ones(len(points.logdensity), bool)
    for _ in range(_MOST_MOVES):
        position, value, gradient = (np.asarray(part) for part in (points.position, points.logdensity, points.gradient))
        size = _FAR * position.shape[1]
        norm = np.linalg.norm(gradient, axis=1)
        far &= ~(norm <= size)  # where ℓ is concave, it rises within a unit of length by |∇ℓ| at most
        if not far.any():
            break
        direction = gradient / np.where(norm > 0, norm, 1.0)[:, None]
        best, highest = position, value
        for length in _LENGTHS:
            there = position + (length * direction).astype(position.dtype)
            found = np.asarray(points_at(on_device(there), density, metric).logdensity)
            better = np.isfinite(found) & ~(found <= highest)
            best, highest = np.where(better[:, None], there, best), np.where(better, found, highest)
        far &= highest - value > size
        points = points_at(on_device(np.where(far[:, None], best, position)), density, metric)
    return points
