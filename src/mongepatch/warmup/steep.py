"""Whether chains in a constant metric have been where the density is too steep for their steps.

Leapfrog is unstable where ε√λ > 2, with λ the largest curvature in the scale of M. Trajectories that enter such a place
are mostly rejected, so that chains turn at its door: the draws look well, and what lies beyond is missing. The few that
got in tell.
"""

from typing import Any

import jax
import numpy as np

from mongepatch.metrics import Euclidean
from mongepatch.metrics.inverse_mass import InverseMass
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.stiffness import largest_curvatures, twice_differentiable

SHARE = 0.01
"""Share of such draws that is let pass: a step that suits a density all over has none, or next to none."""
_STEEP = 2.0
"""ε√λ from which leapfrog is unstable."""
_SURPRISE = 2.0
"""How much larger than a normal density's the largest gradients must be for curvatures to be looked at at all."""


def share_too_steep(rehearsal: Rehearsal, base: InverseMass, step_size: float) -> float:
    """The share of recent draws at which steps of this size in a constant metric are unstable."""
    rows, density = rehearsal.recent_positions(), rehearsal.runner.density
    if not twice_differentiable(density, rows[0]):
        return 0.0
    return float(np.mean(step_size * np.sqrt(largest_curvatures(rows, density, base)) > _STEEP))


def steep_in_constant_metric(rehearsal: Rehearsal) -> float:
    """The same for the metric that chains have now; 0 where it is not constant, or gradients give no reason to look."""
    metric: Any = rehearsal.settings.metric
    if not isinstance(metric, Euclidean) or not _surprising(rehearsal, metric.inverse_mass):
        return 0.0
    return share_too_steep(rehearsal, metric.inverse_mass, float(rehearsal.pace.step_size))


def _surprising(rehearsal: Rehearsal, base: InverseMass) -> bool:
    """Whether some gradients are longer than any of a normal density with this M, whose squares make χ² of D."""
    gradients: Any = rehearsal.records[-1].gradient
    rows = gradients.reshape(-1, gradients.shape[-1])
    squares = np.sum(rows * np.asarray(jax.vmap(base.apply)(rows)), axis=1)
    dimension = rows.shape[1]
    return bool(np.quantile(squares, 1.0 - SHARE) > _SURPRISE * (dimension + 4.0 * np.sqrt(2.0 * dimension)))
