"""The trajectory: NUTS, or static trajectories of a length that a few trials find as good and cheaper.

A user who asks for 4 × 1000 draws wants them to be enough. So static trajectories must give about as many effective
draws *per draw* as NUTS, and plainly many: only then does it count that they cost fewer gradients.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from mongepatch.trajectories import Static
from mongepatch.warmup.efficiency import Trial, TrialStatistics, hill_climb, try_tuning
from mongepatch.warmup.options import JITTER, ToFind, policy_of
from mongepatch.warmup.state import WarmupState

_MAX_TRIALS = 3
_STATIC_GAIN = 1.1
"""How many times the effective draws per gradient of NUTS, which adapts to each place by itself, static trajectories
must give."""
_MIN_ESS_RATIO, _MIN_ESS_PER_DRAW = 0.9, 0.35
"""Effective draws per draw of static trajectories, relative to those of NUTS and by themselves."""


def choose_trajectory(state: WarmupState, to_find: ToFind, seen: TrialStatistics, draws: int) -> str:
    """Choose between NUTS and static trajectories of some length; say what was chosen."""
    if not to_find.trajectory:
        return ""
    if state.is_whitened:
        return "trajectory NUTS"
    if isinstance(state.tuning.trajectory, Static):
        # A static trajectory's longest is twice its mean.
        best = _best_length(state, 2 * float(state.records[-1].info.n_steps.mean()), draws)
        state.change(best.tuning, best.step_size)
        return _static_words(best)
    if seen.diverges:
        return "trajectory NUTS: some trajectories diverge, and a short run cannot tell how long they should be"
    rival = Trial(state.tuning, state.step_size, seen.ess_per_gradient, seen.ess_per_draw)
    cheapest = _cheapest_length(state, rival, draws)
    if cheapest is None or not cheapest.ess_per_gradient > _STATIC_GAIN * rival.ess_per_gradient:
        state.change(rival.tuning, rival.step_size)
        return "trajectory NUTS: no static one gave as many effective draws in a trial, and more per gradient"
    state.change(cheapest.tuning, cheapest.step_size)
    ratio = cheapest.ess_per_gradient / rival.ess_per_gradient
    return f"{_static_words(cheapest)}: {ratio:.1f} times as many effective draws per gradient as NUTS in a trial"


def _static_words(trial: Trial) -> str:
    trajectory: Any = trial.tuning.trajectory
    return f"trajectory static, up to {int(trajectory.num_steps)} steps"


def _best_length(state: WarmupState, longest: float, draws: int) -> Trial:
    """Try static trajectories, from a guess of the longest to the better side."""
    lengths = policy_of(state.tuning.metric).lengths
    trials = min(_MAX_TRIALS, len(lengths))
    return hill_climb(lengths, _nearest(lengths, longest), partial(_try_length, state, draws=draws // trials), trials)


def _cheapest_length(state: WarmupState, rival: Trial, draws: int) -> Trial | None:
    """The shortest static trajectories that give about as many effective draws per draw as NUTS; None for none.

    NUTS goes both ways and doubles: half of its steps are a first guess of the longest. Longer ones are tried while
    there are too few effective draws, or shorter ones while there are enough.
    """
    lengths = policy_of(state.tuning.metric).lengths
    place = _nearest(lengths, float(state.records[-1].info.n_steps.mean()) / 2)
    needed = max(_MIN_ESS_RATIO * rival.ess_per_draw, _MIN_ESS_PER_DRAW)
    best: Trial | None = None
    direction = 0
    for _ in range(_MAX_TRIALS):
        trial = _try_length(state, lengths[place], draws=draws // _MAX_TRIALS)
        enough = trial.ess_per_draw >= needed
        if enough and (best is None or trial.ess_per_gradient > best.ess_per_gradient):
            best = trial
        direction = direction or (-1 if enough else 1)
        place += direction
        if enough == (direction > 0) or not 0 <= place < len(lengths):
            break
    return best


def _try_length(state: WarmupState, longest: int, draws: int) -> Trial:
    return try_tuning(state, state.tuning._replace(trajectory=Static(longest, JITTER)), draws)


def _nearest(lengths: Sequence[int], wanted: float) -> int:
    return min(range(len(lengths)), key=lambda i: abs(lengths[i] - wanted))
