"""Warm-up as a whole: what is unknown is found, in an order in which each helps the next."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mongepatch.metrics import Monge
from mongepatch.trajectories import Static
from mongepatch.warmup.alpha import alpha_for
from mongepatch.warmup.length import choose_length
from mongepatch.warmup.mass import estimate
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.schedule import windows
from mongepatch.warmup.stiffness import stiffness
from mongepatch.warmup.trial import Trial, attempt
from mongepatch.warmup.unknowns import Unknowns

ACCEPTANCE, CAREFUL = 0.8, 0.9
"""The acceptance rate to look for; and where trajectories diverge, which a shorter step makes rarer."""
ROUGH = 0.002
"""Share of divergent trajectories from which on the density is called rough."""
FEWEST = 100
"""Draws below which only the step size and M are looked for."""
_BASICS, _TRIAL, _LENGTH = 0.35, 0.05, 0.2
"""Shares of the draws: step size and M at first, a trial of NUTS, the length of static trajectories."""
_MARGIN = 1.1
"""How much more static trajectories must be worth than NUTS, which adapts to each place by itself."""


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
    questions = unknowns.metric or unknowns.alpha or unknowns.length
    if not questions or draws < FEWEST:
        basics(rehearsal, unknowns, draws)
        rehearsal.settle()
        return Choice("", "")
    basics(rehearsal, unknowns, round(_BASICS * draws))
    rough = roughness(rehearsal)
    metric = _metric(rehearsal, unknowns, rough)
    trajectory = _trajectory(rehearsal, unknowns, rough, draws)
    basics(rehearsal, unknowns, draws - rehearsal.draws)
    rehearsal.settle()
    return Choice(metric, trajectory)


def basics(rehearsal: Rehearsal, unknowns: Unknowns, draws: int) -> None:
    """Step size, and M where it is unknown."""
    for window in windows(draws, mass=unknowns.structure is not None):
        record = rehearsal.run(window.draws)
        if window.mass and unknowns.structure is not None and record.gradient is not None:
            metric: Any = rehearsal.settings.metric  # one with a base, or its structure would not be unknown
            base = estimate(record.position, record.gradient, metric.inverse_mass, unknowns.structure)
            rehearsal.change(rehearsal.settings._replace(metric=replace(metric, inverse_mass=base)))


def roughness(rehearsal: Rehearsal) -> float:
    """Share of divergent trajectories in the later halves of the last windows, where the step size is about right."""
    late = [record.info.diverging[:, record.info.diverging.shape[1] // 2 :] for record in rehearsal.records[-2:]]
    return float(np.mean(np.concatenate(late, axis=1)))


def _metric(rehearsal: Rehearsal, unknowns: Unknowns, rough: float) -> str:
    """Go over to the Monge metric where one direction is stiff; say what was chosen and why."""
    if rough > ROUGH:
        rehearsal.be_careful(CAREFUL)
    if not (unknowns.alpha or unknowns.metric):
        return ""
    if not unknowns.alpha and rough <= ROUGH:
        return "metric Euclidean: no trajectory diverges"
    flat: Any = rehearsal.settings.metric
    positions = np.concatenate([record.position for record in rehearsal.records[-2:]], axis=1)
    alpha, reason = alpha_for(
        stiffness(positions.reshape(-1, positions.shape[-1]), rehearsal.runner.density, flat.inverse_mass)
    )
    if alpha == 0.0:
        rehearsal.change(rehearsal.settings)
        return f"metric Euclidean: {reason}"
    rehearsal.change(rehearsal.settings._replace(metric=Monge(alpha, flat.inverse_mass)))
    return f"metric Monge, α = {alpha:.2g}: {reason}"


def _trajectory(rehearsal: Rehearsal, unknowns: Unknowns, rough: float, draws: int) -> str:
    """Choose between NUTS and static trajectories of some length; say what was chosen."""
    if not unknowns.length:
        return ""
    if unknowns.nuts and rough > ROUGH:
        return "trajectory NUTS: some trajectories diverge, and a short run cannot tell how long they should be"
    rival: Trial | None = None
    if unknowns.nuts:
        rival = attempt(rehearsal, rehearsal.settings, round(_TRIAL * draws))
    typical = float(rehearsal.records[-1].info.n_steps.mean()) / 2
    best = choose_length(rehearsal, typical, round(_LENGTH * draws))
    if rival is not None and best.worth < _MARGIN * rival.worth:
        rehearsal.change(rival.settings, rival.step_size)
        return "trajectory NUTS: worth more than static ones"
    rehearsal.change(best.settings, best.step_size)
    assert isinstance(best.settings.trajectory, Static)
    longest = int(best.settings.trajectory.num_steps)
    gain = f": worth {best.worth / rival.worth:.1f} times NUTS" if rival is not None and rival.worth > 0 else ""
    return f"trajectory static, up to {longest} steps{gain}"
