"""Static trajectories of a quarter of a circle: how many steps they have, and of which length.

Where M suits a normal density, a trajectory turns x − center and v by an angle. After a quarter of a circle the next
draw is independent of the last.

If the metric has a center and nobody has a say in ε, steps turn x and v themselves. Then ε is the angle of a step, and
what is left to choose is the number of steps. Their energy error is that of the difference from a normal density, which
is mostly small: two or three such steps do what takes leapfrog three to five.
"""

from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from mongepatch._arrays import on_device
from mongepatch.chains import Tuning
from mongepatch.kernels import LMC
from mongepatch.metrics import Euclidean, turning_frequency
from mongepatch.trajectories import NUTSOrStatic, Static, in_use
from mongepatch.warmup.efficiency import Trial, try_tuning
from mongepatch.warmup.state import WarmupState
from mongepatch.warmup.step_size import ANGLE, longest_step

_JITTER = 0.15
"""The largest difference of a trajectory's ε from its mean, relative to that. Of three steps, one more or fewer would
make a third of the squares' effective draws useless."""
_LONGER = 1.1
"""By how much leapfrog steps may become longer than the ε that was adapted, so that their number is a whole one."""
_MOST_STEPS = 512
"""The longest of them: an ε that asks for more suits no M of this density."""
_FEWEST_ACCEPTED = 0.94
"""The acceptance rate that is expected of as many steps as are made: draws are independent where they are accepted."""
_LEAST_KNOWN, _MOST_KNOWN = 0.02, 0.9999
"""Acceptance rates between which a run of some draws tells what other numbers of steps would do."""


def with_static(tuning: Tuning, static: Static) -> Tuning:
    """Tuning parameters with static trajectories, by the program that is there already where that costs as little."""
    both: Any = tuning.trajectory
    is_one_program = isinstance(both, NUTSOrStatic) and isinstance(tuning.metric, Euclidean)
    return tuning._replace(trajectory=both.with_static(static) if is_one_program else static)


def try_quarter_circle(state: WarmupState, step_size: float, draws: int, *, may_turn: bool) -> Trial:
    """Try static trajectories of a quarter of a circle.

    Args:
        state: of warm-up.
        step_size: a guess of ε of leapfrog steps to begin with.
        draws: of the trial.
        may_turn: whether leapfrog steps may become steps around a center, which is found with M.
    """
    tuning = with_static(state.tuning, quarter_circle(step_size, turning_frequency(state.tuning.metric)))
    metric: Any = tuning.metric
    if may_turn and _can_turn(state) and not metric.turns:
        tuning = tuning._replace(metric=replace(metric, frequency=on_device(1.0, metric.center.dtype)))
    held = longest_step(tuning) if _turns(state, tuning) else None
    return try_tuning(state, tuning, draws, settle=turn_by_a_quarter, step_size=held)


def turn_by_a_quarter(state: WarmupState) -> None:
    """Give static trajectories the number of steps that is a quarter of a circle.

    Where steps turn x and v, it is the fewest that are accepted often enough, and ε is held at the angle of each. Else
    it follows from the present ε, which is then changed by as little as makes it one, unless the user has a say in it.
    """
    if _turns(state, state.tuning):
        trajectory: Any = in_use(state.tuning.trajectory)
        steps = enough_steps(float(state.records[-1].info.acceptance_rate.mean()), int(trajectory.num_steps))
        state.tuning = with_static(state.tuning, Static(steps, 0.0, _JITTER))
        state.hold_step_size(longest_step(state.tuning))
        return
    static = quarter_circle(state.step_size, turning_frequency(state.tuning.metric))
    state.tuning = with_static(state.tuning, static)
    if not state.has_given_acceptance:  # and steps are leapfrog
        state.end_with_step_size(2.0 * np.sin(0.5 * ANGLE / int(static.num_steps)))


def quarter_circle(step_size: float, frequency: float = 0.0) -> Static:
    """Static trajectories of about a quarter of a circle, on average.

    A leapfrog step in a normal density with M its precision turns x and velocity by 2 asin(ε/2), another by ωε.
    """
    angle = frequency * step_size if frequency > 0.0 else 2.0 * np.arcsin(min(step_size, 2.0) / 2.0)
    steps = ANGLE / angle
    return Static(int(np.clip(np.ceil(steps / _LONGER), 1, _MOST_STEPS)), 0.0, _JITTER)


def enough_steps(acceptance: float, steps: int) -> int:
    """The fewest steps of a quarter of a circle that are accepted often enough, from the rate of another number.

    The energy error is nearly normal with a variance of twice its mean, so that 2Φ(−√mean / 2) are accepted, and the
    root of its mean grows as ε².
    """
    known = min(max(acceptance, _LEAST_KNOWN), _MOST_KNOWN)
    normal = NormalDist()
    ratio = normal.inv_cdf(0.5 * known) / normal.inv_cdf(0.5 * _FEWEST_ACCEPTED)  # of the roots, present to allowed
    return int(np.clip(np.ceil(steps * np.sqrt(ratio)), 1, _MOST_STEPS))


def _can_turn(state: WarmupState) -> bool:
    """Whether steps may turn x and v around a center, by an ε that nobody has a say in."""
    metric: Any = state.tuning.metric
    has_center = isinstance(metric, Euclidean) and metric.center is not None
    return has_center and isinstance(state.runner.kernel, LMC) and not state.has_given_acceptance


def _turns(state: WarmupState, tuning: Tuning) -> bool:
    """Whether steps with these tuning parameters do."""
    return _can_turn(state) and turning_frequency(tuning.metric) > 0.0
