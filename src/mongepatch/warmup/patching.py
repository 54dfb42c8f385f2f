"""Going over to the patch of a model's residuals, where it pays, and the α of a patch."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from mongepatch.chains import Fixed
from mongepatch.metrics import Patch
from mongepatch.metrics.inverse_mass import Diagonal
from mongepatch.trajectories import Static
from mongepatch.warmup.basics import CAREFUL, basics
from mongepatch.warmup.length import JITTER, PATCH_LENGTHS
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.scales import variances
from mongepatch.warmup.steep import SHARE, share_too_steep
from mongepatch.warmup.stiffness import stiffness, twice_differentiable
from mongepatch.warmup.trial import Look, look
from mongepatch.warmup.unknowns import Unknowns

ALPHAS = (16.0, 4.0, 2.0)
"""Values of α that are tried, besides 1. At 16 there is next to nothing of M left, and beyond it nothing to win."""
_AS_LONG = 0.5
"""How long, relative to the step at α = 1, a step must stay."""
_STIFF, _VARIED = 2.0, 2.0
"""Curvature in the scale of M, and its ratio between stiff and soft places, from which a patch is worth a try.
Regressions stay below 2; a hierarchy with a hundred groups, of which NUTS sees a part, has 10 and 2.8."""
_MARGIN = 2.0
"""How many times the effective draws a second a patch must make where the Euclidean metric is not in trouble: static
trajectories, which are looked for later, may still double what that one makes."""


def try_patch(rehearsal: Rehearsal, unknowns: Unknowns, flat: Look, draws: int) -> str:
    """Try the patch where chains are in trouble or the curvature varies, and keep it where it is right or makes more.

    Chains in the Euclidean metric may never see the places that are too steep for them, and look well. The patch does
    not mind steepness, so that its draws tell what the others missed.

    Returns what to say; nothing where it was not tried.
    """
    if not (flat.rough or flat.slow or _varied(rehearsal)):
        return ""
    settings, step_size, acceptance = rehearsal.settings, float(rehearsal.pace.step_size), rehearsal.acceptance
    euclidean: Any = settings.metric
    rows = rehearsal.recent_positions()
    base = variances(rows, Diagonal(jnp.ones(rows.shape[1], rows.dtype)))
    trajectory: Any = Static(PATCH_LENGTHS[0], JITTER) if unknowns.length else settings.trajectory
    rehearsal.be_careful(CAREFUL)
    rehearsal.change(settings._replace(metric=Patch(unknowns.residuals, 1.0, base), trajectory=trajectory))
    basics(rehearsal, unknowns, draws)
    rehearsal.settle()
    bent = look(rehearsal, flat.record.position.shape[1])
    steep = share_too_steep(rehearsal.recent_positions(), rehearsal.runner.density, euclidean.inverse_mass, step_size)
    if steep > SHARE:
        return f"metric Patch: {steep:.1%} of the draws lie where the density is too steep for a constant metric"
    if flat.rough and bent.diverging < flat.diverging:
        return (
            f"metric Patch: {bent.diverging:.1%} of its trajectories diverge, {flat.diverging:.1%} in a constant metric"
        )
    if flat.slow:  # and a patch that is no better costs time, where a constant metric may cost the answer
        return "metric Patch: in a constant metric chains are too slow to tell how slow"
    if bent.per_second > _MARGIN * flat.per_second:
        return "metric Patch: it makes more effective draws a second than a constant metric"
    rehearsal.be_careful(acceptance)
    rehearsal.change(settings, step_size)
    return "metric Euclidean: a patch was tried, and made less of a second"


def choose_alpha(rehearsal: Rehearsal, draws: int) -> str:
    """The largest α that leaves steps about as long as they are; α is 1 at first.

    M is for what the residuals leave open. Elsewhere it is in the way, and the less there is of it the better: a step
    then covers ε/√(1 + α²) widths of a parameter, whatever α is. Once M alone holds a direction, ε cannot grow with α.
    """
    metric: Any = rehearsal.settings.metric
    if isinstance(rehearsal.pace, Fixed):
        return "α = 1, since the step size is given"
    rehearsal.settle()
    first, usual = rehearsal.settings, float(rehearsal.pace.step_size)
    for alpha in ALPHAS:
        bent = replace(metric, alpha=jnp.asarray(alpha, metric.alpha.dtype))
        stride = np.sqrt((1.0 + alpha**2) / 2.0)
        rehearsal.change(first._replace(metric=bent), usual * stride)
        rehearsal.run(draws // len(ALPHAS))
        rehearsal.settle()
        if float(rehearsal.pace.step_size) > _AS_LONG * usual * stride:
            return f"α = {alpha:g}"
    rehearsal.change(first, usual)
    return "α = 1"


def _varied(rehearsal: Rehearsal) -> bool:
    """Whether some places are far stiffer than others, which no constant M can follow."""
    metric: Any = rehearsal.settings.metric
    rows, density = rehearsal.recent_positions(), rehearsal.runner.density
    if not twice_differentiable(density, rows[0]):
        return False
    found = stiffness(rows, density, metric.inverse_mass)
    return found.largest > _STIFF and found.varies > _VARIED
