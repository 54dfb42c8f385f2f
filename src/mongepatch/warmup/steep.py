"""Whether chains in a constant metric have been where the density is too steep for their steps.

Leapfrog is unstable where ε√λ > 2, with λ the largest curvature in the scale of M. Trajectories that enter such a place
are mostly rejected, so that chains turn at its door: the draws look well, and what lies beyond is missing. The few that
got in tell.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.kernels import LMC
from mongepatch.metrics import Euclidean
from mongepatch.metrics.inverse_mass import InverseMass
from mongepatch.program import Program
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.stiffness import largest_curvatures, twice_differentiable

SHARE = 0.01
"""Share of such draws that is let pass: a step that suits a density all over has none, or next to none."""
_STEEP = 2.0
"""ε√λ from which leapfrog is unstable."""
_SURPRISE = 2.0
"""How much larger than any of a normal density a squared gradient must be for the curvature there to be looked at."""
_MOST = 64
"""At how many draws it is looked at."""


def share_too_steep(rows: np.ndarray, density: Program, base: InverseMass, step_size: float) -> float:
    """The share of these draws [number, dimension] at which steps of this size in a constant metric are unstable."""
    if not twice_differentiable(density, rows[0]):
        return 0.0
    return float(np.mean(step_size * np.sqrt(largest_curvatures(rows, density, base)) > _STEEP))


def steep_in_constant_metric(rehearsal: Rehearsal) -> float:
    """The same for the metric and the recent draws of chains; 0 where the metric or the steps are of another kind.

    Curvatures cost many products with Hessians. So they are looked at only where the gradient is long, as it is where
    many directions are stiff; one stiff direction among hundreds may go unseen.
    """
    metric: Any = rehearsal.settings.metric
    if not isinstance(metric, Euclidean) or not isinstance(rehearsal.runner.kernel, LMC):
        return 0.0
    long = _surprising(rehearsal.recent_gradients(), metric.inverse_mass)
    if not long.mean() > SHARE:
        return 0.0
    rows = rehearsal.recent_positions()[long]
    some = rows[:: -(-len(rows) // _MOST)]
    step_size = float(rehearsal.pace.step_size)
    return float(long.mean() * share_too_steep(some, rehearsal.runner.density, metric.inverse_mass, step_size))


def _surprising(gradients: np.ndarray, base: InverseMass) -> np.ndarray:
    """Which gradients are longer than those of a normal density, whose squares in the scale of M are χ² of D.

    M need not be of the density's scale: the median is made that of χ².
    """
    dimension = gradients.shape[1]
    squares = np.sum(gradients * np.asarray(jax.vmap(base.apply)(jnp.asarray(gradients))), axis=1)
    usual, largest = dimension * (1.0 - 2.0 / (9.0 * dimension)) ** 3, dimension + 4.0 * np.sqrt(2.0 * dimension)
    surprising: np.ndarray = squares > _SURPRISE * largest / usual * np.median(squares)
    return surprising
