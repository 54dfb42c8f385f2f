"""Warm-up as a whole: what is unknown is found, in an order in which each helps the next."""

from typing import Any, NamedTuple

from mongepatch.metrics import Monge, Patch
from mongepatch.trajectories import Static
from mongepatch.warmup.alpha import alpha_for
from mongepatch.warmup.basics import CAREFUL, basics
from mongepatch.warmup.length import choose_length
from mongepatch.warmup.patching import choose_alpha, try_patch
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.steep import steep_in_constant_metric
from mongepatch.warmup.stiffness import stiffness, twice_differentiable
from mongepatch.warmup.trial import RELIABLE, Look, Trial, look
from mongepatch.warmup.unknowns import Unknowns

FEWEST = 300
"""Draws below which only the step size and M are looked for."""
_BASICS, _LOOK, _PATCH, _ALPHA, _LENGTH = 0.35, 0.08, 0.17, 0.08, 0.2
"""Shares of the draws: step size and M at first, a look at how it goes, the same with a patch, the α of a patch, and
the length of static trajectories."""
_MARGIN = 1.1
"""How much more static trajectories must be worth than NUTS, which adapts to each place by itself."""


class Choice(NamedTuple):
    """What was chosen, for a person to read, and what is to be said of it."""

    metric: str
    trajectory: str
    steep: float = 0.0
    """Share of the last draws at which the density is too steep for a constant metric; 0 where that was not looked
    at."""

    @property
    def line(self) -> str:
        """What was chosen, in one line."""
        return "; ".join(part for part in (self.metric, self.trajectory) if part)


def warm_up(rehearsal: Rehearsal, unknowns: Unknowns, draws: int) -> Choice:
    """Find what is unknown in this many draws of every chain."""
    if isinstance(rehearsal.settings.metric, Patch):
        rehearsal.be_careful(CAREFUL)
    if draws < FEWEST:
        basics(rehearsal, unknowns, draws)
        rehearsal.settle()
        asked = unknowns.metric or unknowns.alpha or unknowns.length
        return Choice(f"with warmup below {FEWEST} no metric and no trajectory is chosen" if asked else "", "")
    basics(rehearsal, unknowns, round(_BASICS * draws))
    rehearsal.settle()
    seen = look(rehearsal, round(_LOOK * draws))
    before = type(rehearsal.settings.metric)
    metric = _choose_metric(rehearsal, unknowns, seen, draws)
    if seen.rough and type(rehearsal.settings.metric) is before:
        rehearsal.be_careful(CAREFUL)
    trajectory = _choose_trajectory(rehearsal, unknowns, seen, draws)
    left = draws - rehearsal.draws
    rehearsal.change(rehearsal.settings)
    basics(rehearsal, unknowns, left, first=left // 2)
    rehearsal.settle()
    return Choice(metric, trajectory, steep_in_constant_metric(rehearsal))


def _choose_metric(rehearsal: Rehearsal, unknowns: Unknowns, seen: Look, draws: int) -> str:
    """Go over to a patch or the Monge metric where that pays, and find their α; say what was chosen and why."""
    if unknowns.metric and unknowns.residuals is not None:
        reason = try_patch(rehearsal, unknowns, seen, round(_PATCH * draws))
        if isinstance(rehearsal.settings.metric, Patch):
            return f"{reason}; {choose_alpha(rehearsal, round(_ALPHA * draws))}"
        if reason and not seen.rough:
            return reason
    if not (unknowns.alpha or unknowns.metric):
        return ""
    if isinstance(rehearsal.settings.metric, Patch):
        return f"metric Patch, {choose_alpha(rehearsal, round(_ALPHA * draws))}"
    if not unknowns.alpha and not seen.rough:
        return "metric Euclidean: hardly a trajectory diverges"
    flat: Any = rehearsal.settings.metric
    rows = rehearsal.recent_positions()
    if not twice_differentiable(rehearsal.runner.density, rows[0]):
        return "metric Euclidean: JAX cannot derive the density twice"
    alpha, reason = alpha_for(stiffness(rows, rehearsal.runner.density, flat.inverse_mass))
    if alpha == 0.0:
        return f"metric Euclidean: {reason}"
    rehearsal.change(rehearsal.settings._replace(metric=Monge(alpha, flat.inverse_mass)))
    return f"metric Monge, α = {alpha:.2g}: {reason}"


def _choose_trajectory(rehearsal: Rehearsal, unknowns: Unknowns, seen: Look, draws: int) -> str:
    """Choose between NUTS and static trajectories of some length; say what was chosen."""
    if not unknowns.length:
        return ""
    static = isinstance(rehearsal.settings.trajectory, Static)
    if not static and seen.rough:
        return "trajectory NUTS: some trajectories diverge, and a short run cannot tell how long they should be"
    rival = Trial(rehearsal.settings, float(rehearsal.pace.step_size), seen.worth)
    steps = float(rehearsal.records[-1].info.n_steps.mean())
    # NUTS goes both ways and doubles: half of its steps are a good longest. A static one's longest is twice its mean.
    best = choose_length(rehearsal, 2 * steps if static else steps / 2, round(_LENGTH * draws))
    if not static and not best.worth > max(_MARGIN * rival.worth, RELIABLE):
        rehearsal.change(rival.settings, rival.step_size)
        return "trajectory NUTS: no static one is worth more"
    rehearsal.change(best.settings, best.step_size)
    trajectory: Any = best.settings.trajectory
    told = not static and rival.worth > RELIABLE
    gain = f": worth {best.worth / rival.worth:.1f} times NUTS" if told else ""
    return f"trajectory static, up to {int(trajectory.num_steps)} steps{gain}"
