"""Warm-up as a whole: what is unknown is found, in an order in which each helps the next."""

from dataclasses import replace
from typing import Any, NamedTuple

from mongepatch.chains import Record
from mongepatch.metrics import Monge
from mongepatch.warmup.alpha import alpha_for
from mongepatch.warmup.length import choose_length
from mongepatch.warmup.mass import estimate
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.schedule import FIRST, windows
from mongepatch.warmup.stiffness import stiffness, twice_differentiable
from mongepatch.warmup.trial import RELIABLE, Trial, worth
from mongepatch.warmup.unknowns import Unknowns

ACCEPTANCE, CAREFUL = 0.8, 0.9
"""The acceptance rate to look for; and where trajectories diverge and no metric helps, which a shorter step does."""
ROUGH = 0.002
"""Share of divergent trajectories above which the density is called rough."""
FEWEST = 300
"""Draws below which only the step size and M are looked for."""
_BASICS, _LOOK, _LENGTH = 0.35, 0.08, 0.2
"""Shares of the draws: step size and M at first, a look at how it goes, the length of static trajectories."""
_MARGIN = 1.1
"""How much more static trajectories must be worth than NUTS, which adapts to each place by itself."""
_STRICT = 2
"""Windows in which chains may still be on their way, and none may be left behind."""


class Choice(NamedTuple):
    """What was chosen, for a person to read."""

    metric: str
    trajectory: str

    @property
    def line(self) -> str:
        """All of it in one line."""
        return "; ".join(part for part in self if part)


def warm_up(rehearsal: Rehearsal, unknowns: Unknowns, draws: int) -> Choice:
    """Find what is unknown in this many draws of every chain."""
    if draws < FEWEST:
        basics(rehearsal, unknowns, draws)
        rehearsal.settle()
        asked = unknowns.metric or unknowns.alpha or unknowns.length
        return Choice(f"with warmup below {FEWEST} no metric and no trajectory is chosen" if asked else "", "")
    basics(rehearsal, unknowns, round(_BASICS * draws))
    rehearsal.settle()
    record = rehearsal.run(round(_LOOK * draws))
    rough = float(record.info.diverging.mean()) > ROUGH
    before = rehearsal.settings.metric
    metric = _choose_metric(rehearsal, unknowns, rough)
    if rough and rehearsal.settings.metric is before:
        rehearsal.be_careful(CAREFUL)
    trajectory = _choose_trajectory(rehearsal, unknowns, rough, record, draws)
    left = draws - rehearsal.draws
    rehearsal.change(rehearsal.settings)
    basics(rehearsal, unknowns, left, first=left // 2)
    rehearsal.settle()
    return Choice(metric, trajectory)


def basics(rehearsal: Rehearsal, unknowns: Unknowns, draws: int, first: int = FIRST) -> None:
    """Step size, and M where it is unknown."""
    for number, window in enumerate(windows(draws, mass=unknowns.structure is not None, first=first)):
        if number == _STRICT:
            rehearsal.arrive()
        record = rehearsal.run(window.draws)
        if window.mass and unknowns.structure is not None and record.gradient is not None:
            metric: Any = rehearsal.settings.metric  # one with a base, or its structure would not be unknown
            base = estimate(record.position, record.gradient, metric.inverse_mass, unknowns.structure)
            rehearsal.change(rehearsal.settings._replace(metric=replace(metric, inverse_mass=base)))
    rehearsal.arrive()


def _choose_metric(rehearsal: Rehearsal, unknowns: Unknowns, rough: bool) -> str:
    """Go over to the Monge metric where one direction is stiff; say what was chosen and why."""
    if not (unknowns.alpha or unknowns.metric):
        return ""
    if not unknowns.alpha and not rough:
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


def _choose_trajectory(rehearsal: Rehearsal, unknowns: Unknowns, rough: bool, last: Record, draws: int) -> str:
    """Choose between NUTS and static trajectories of some length; say what was chosen."""
    if not unknowns.length:
        return ""
    if unknowns.compare_with_nuts and rough:
        return "trajectory NUTS: some trajectories diverge, and a short run cannot tell how long they should be"
    rival = Trial(rehearsal.settings, float(rehearsal.pace.step_size), worth(last))
    steps = float(last.info.n_steps.mean())
    # NUTS goes both ways and doubles: half of its steps are a good longest. A static one's longest is twice its mean.
    best = choose_length(rehearsal, steps / 2 if unknowns.compare_with_nuts else 2 * steps, round(_LENGTH * draws))
    if unknowns.compare_with_nuts and not best.worth > max(_MARGIN * rival.worth, RELIABLE):
        rehearsal.change(rival.settings, rival.step_size)
        return "trajectory NUTS: no static one is worth more"
    rehearsal.change(best.settings, best.step_size)
    trajectory: Any = best.settings.trajectory
    gain = f": worth {best.worth / rival.worth:.1f} times NUTS" if unknowns.compare_with_nuts else ""
    return f"trajectory static, up to {int(trajectory.num_steps)} steps{gain}"
