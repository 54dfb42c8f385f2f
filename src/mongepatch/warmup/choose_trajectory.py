"""The trajectory: NUTS, or static trajectories of a length that a few trials find more efficient."""

from typing import Any

from mongepatch.trajectories import Static
from mongepatch.warmup.efficiency import RELIABLE, Trial, TrialStatistics, hill_climb, try_tuning
from mongepatch.warmup.options import JITTER, ToFind, policy_of
from mongepatch.warmup.state import WarmupState

_MAX_TRIALS = 5
_STATIC_GAIN = 1.1
"""How much more efficient static trajectories must be than NUTS, which adapts to each place by itself."""


def choose_trajectory(state: WarmupState, to_find: ToFind, seen: TrialStatistics, draws: int) -> str:
    """Choose between NUTS and static trajectories of some length; say what was chosen."""
    if not to_find.trajectory:
        return ""
    static = isinstance(state.tuning.trajectory, Static)
    if not static and seen.diverges:
        return "trajectory NUTS: some trajectories diverge, and a short run cannot tell how long they should be"
    rival = Trial(state.tuning, state.step_size, seen.ess_per_gradient)
    steps = float(state.records[-1].info.n_steps.mean())
    # NUTS goes both ways and doubles: half of its steps are a good longest. A static one's longest is twice its mean.
    best = _best_length(state, 2 * steps if static else steps / 2, draws)
    if not static and not best.ess_per_gradient > max(_STATIC_GAIN * rival.ess_per_gradient, RELIABLE):
        state.change(rival.tuning, rival.step_size)
        return "trajectory NUTS: no static one gave more effective draws per gradient in a trial"
    state.change(best.tuning, best.step_size)
    trajectory: Any = best.tuning.trajectory
    comparable = not static and rival.ess_per_gradient > RELIABLE
    ratio = best.ess_per_gradient / rival.ess_per_gradient if comparable else None
    gain = "" if ratio is None else f": {ratio:.1f} times as many effective draws per gradient as NUTS in a trial"
    return f"trajectory static, up to {int(trajectory.num_steps)} steps{gain}"


def _best_length(state: WarmupState, longest: float, draws: int) -> Trial:
    """Try static trajectories, from a guess of the longest to the better side."""
    lengths = policy_of(state.tuning.metric).lengths
    start = min(range(len(lengths)), key=lambda i: abs(lengths[i] - longest))
    trials = min(_MAX_TRIALS, len(lengths))

    def try_length(longest: int) -> Trial:
        return try_tuning(state, state.tuning._replace(trajectory=Static(longest, JITTER)), draws // trials)

    return hill_climb(lengths, start, try_length, trials)
