"""The base metric of a patch: the width of each parameter.

Residuals stiffen whatever is stiff, and M is for the directions and places in which they say little: 1/variance there.
Gradients, which find M for the Euclidean metric, would take the steepest corner for the scale of everything.
"""

import jax.numpy as jnp
import numpy as np

from mongepatch.metrics.inverse_mass import Diagonal

_PRIOR_DRAWS = 5
"""How many draws the variances so far are worth."""


def variances(rows: np.ndarray, before: Diagonal) -> Diagonal:
    """M⁻¹ from draws [number, dimension]; as before, where they say nothing."""
    usable = rows[np.isfinite(rows).all(axis=1)].astype(np.float64)
    if len(usable) < 2:
        return before
    old, count = np.asarray(before.variance, np.float64), len(usable)
    found = (count * usable.var(axis=0) + _PRIOR_DRAWS * old) / (count + _PRIOR_DRAWS)
    return Diagonal(jnp.asarray(np.where(np.isfinite(found) & (found > 0), found, old), before.variance.dtype))
