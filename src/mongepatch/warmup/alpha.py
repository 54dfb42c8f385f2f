"""α of the Monge metric, from the curvature where the density is stiffest.

The metric stiffens the direction of the gradient. That helps where one direction is stiff, in some places far more than
in others, and the gradient points along it: then α² |g|² should make up for a good part of the curvature λ, and across
a normal density |g|² is λ on average. Where two directions or more are stiff at once, or none, or all places alike, α
is 0.

Effective draws of short runs cannot tell: a chain that never enters a neck looks as good as one that does.
"""

import numpy as np

from mongepatch.warmup.stiffness import Stiffness

STIFF = 5.0
"""Curvature, in the scale of M, from which a direction is called stiff."""
ALONE = 0.1
"""The second curvature relative to the first, up to which one direction is stiff alone."""
VARIED = 10.0
"""Ratio of large to small curvatures among the draws from which curvature is said to vary."""
PART = 0.5
"""Part of the curvature to make up for: beyond, chains crawl up and down the slopes of the bulk."""
LEAST, MOST = 0.2, 2.0
"""Values that the estimate is kept between."""


def alpha_for(stiffness: Stiffness) -> tuple[float, str]:
    """α, which may be 0, and why."""
    if stiffness.largest < STIFF:
        return 0.0, f"nothing is stiff: curvatures reach {stiffness.largest:.2g} times those of the bulk"
    if stiffness.second > ALONE:
        return 0.0, "several directions are stiff at once, and the Monge metric follows one"
    if stiffness.varies < VARIED:
        return 0.0, "the curvature is much the same everywhere"
    alpha = float(np.clip(np.sqrt(PART / stiffness.steepness), LEAST, MOST))
    return alpha, f"one direction is stiff, in places {stiffness.largest:.2g} times as stiff as in the bulk"
