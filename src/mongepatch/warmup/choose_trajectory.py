"""The trajectory: NUTS, or static trajectories of a length that a trial finds as good and cheaper.

A user who asks for 4 × 1000 draws wants them to be enough. So static trajectories must give at least as many effective
draws *per draw* as NUTS, and plainly many: only then does it count that they cost fewer gradients.

Where M suits a normal density, a trajectory turns x and velocity by an angle, and a quarter of a circle makes the next
draw independent of the last. Twice that is the opposite side: good for means, useless for squares. The trees of NUTS
end between half a circle and a whole one. So the best length is neither short nor long, and varies little.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from mongepatch.trajectories import Static, in_use
from mongepatch.warmup.efficiency import Trial, TrialStatistics, hill_climb, try_tuning
from mongepatch.warmup.options import ToFind, policy_of
from mongepatch.warmup.quarter_circle import try_quarter_circle, turn_by_a_quarter, with_static
from mongepatch.warmup.state import WarmupState

_MAX_TRIALS = 3
"""Static trajectories of so many lengths are tried."""
_STATIC_GAIN = 1.1
"""How many times the effective draws per gradient of NUTS, which adapts to each place by itself, static trajectories
must give."""
_MIN_ESS_RATIO, _MIN_LEAST_RATIO, _MIN_ESS_PER_DRAW = 0.75, 0.8, 0.5
"""Effective draws per draw of static trajectories, relative to those of NUTS, the same for the parameter or square that
has the fewest, whose estimate errs most, and by themselves. Trials of good ones have 0.6 to 0.85. NUTS has more of some
means than it needs."""
_STATIC_STEP = 0.75
"""A guess of ε of static trajectories relative to that of NUTS: they adapt to a higher acceptance rate."""
_SMALLEST_TREE, _LARGEST_TREE = 1.5, 8.0
"""Steps of NUTS times ε, on average, between which M suits the density: trees end between half a circle and a whole
one. Where M is of another scale, or trees are cut, they are no measure of it."""
_PART_OF_TREE = 0.6
"""Beyond that, a guess of the longest static trajectory relative to the steps of NUTS."""
_KEEP_GUESS = 1.15
"""How many times as many effective draws another length must give in a trial than the guess."""


class TrajectoryChoice(NamedTuple):
    """What was chosen, and whether the length of static trajectories is to follow from the draws after it."""

    reason: str | None = None
    """Why, for a person to read; empty where there was nothing to compare with, None where nothing was chosen."""
    is_quarter_circle: bool = False
    """Whether static trajectories are a quarter of a circle, whatever number of steps that is."""

    def settle(self, state: WarmupState) -> str:
        """Give static trajectories the length that the last draws ask for; say what was chosen."""
        if self.is_quarter_circle:
            turn_by_a_quarter(state)
        trajectory: Any = in_use(state.tuning.trajectory)
        is_static = isinstance(trajectory, Static)
        name = f"trajectory static, up to {int(trajectory.num_steps)} steps" if is_static else "trajectory NUTS"
        return "" if self.reason is None else ": ".join(filter(None, [name, self.reason]))


def choose_trajectory(
    state: WarmupState, to_find: ToFind, seen: TrialStatistics, draws: int, *, tries_lengths: bool = True
) -> TrajectoryChoice:
    """Choose between NUTS and static trajectories of some length.

    Args:
        state: of warm-up.
        to_find: what is to be found.
        seen: a trial of NUTS.
        draws: of the trials of static trajectories.
        tries_lengths: whether these are enough for several lengths, rather than for a quarter of a circle alone.
    """
    trajectory: Any = state.tuning.trajectory
    if not to_find.trajectory or (isinstance(trajectory, Static) and not tries_lengths):
        return TrajectoryChoice()
    if isinstance(trajectory, Static):
        state.set_target_acceptance(policy_of(state.tuning.metric).static_acceptance)
        best = _best_length(state, float(trajectory.num_steps), draws, _per_gradient)
        state.change(best.tuning, best.step_size)
        return TrajectoryChoice("")
    if seen.diverges:
        return TrajectoryChoice("some trajectories diverge, and a short run cannot tell how long they should be")
    if seen.is_careful:
        return TrajectoryChoice("steps are short for the stiffest places, and many are needed elsewhere")
    steps = float(seen.record.info.n_steps.mean())
    suits = is_round(steps, state.angle)
    if not suits and (state.is_whitened or not tries_lengths):
        return TrajectoryChoice("some trees are long, and a short run cannot tell how long they should be")
    longest = None if suits else _PART_OF_TREE * steps
    return _compare_with_static(state, seen, longest, draws, may_turn=to_find.inverse_mass is not None)


def is_round(steps: float, angle: float) -> bool:
    """Whether M suits the density: trees of so many steps, on average, end within about a circle."""
    return _SMALLEST_TREE < steps * angle < _LARGEST_TREE


def _compare_with_static(
    state: WarmupState, seen: TrialStatistics, longest: float | None, draws: int, *, may_turn: bool
) -> TrajectoryChoice:
    """Take static trajectories where the best of them give as much as NUTS, for less.

    Args:
        state: with NUTS.
        seen: its trial.
        longest: a guess of the longest static trajectory, in steps; None for a quarter of a circle.
        draws: of the trials of static trajectories.
        may_turn: whether leapfrog steps may become steps around a center.
    """
    rival = Trial(state.tuning, state.step_size, seen.internal_efficiency)
    acceptance = state.target_acceptance
    state.set_target_acceptance(policy_of(state.tuning.metric).static_acceptance)
    if longest is None:
        best = try_quarter_circle(state, _STATIC_STEP * rival.step_size, draws, may_turn=may_turn)
    else:
        best = _best_length(state, longest, draws, _per_draw)
    if not _is_better(best, rival):
        state.set_target_acceptance(acceptance)
        state.change(rival.tuning, rival.step_size)
        return TrajectoryChoice("no static one gave as many effective draws in a trial, and more per gradient")
    if not state.holds_step_size:
        state.change(best.tuning, best.step_size)
    ratio = best.efficiency.ess_per_gradient / rival.efficiency.ess_per_gradient
    reason = f"{ratio:.1f} times as many effective draws per gradient as NUTS in the same coordinates"
    return TrajectoryChoice(reason, is_quarter_circle=longest is None)


def _is_better(trial: Trial, rival: Trial) -> bool:
    return (
        trial.efficiency.ess_per_draw >= max(_MIN_ESS_RATIO * rival.efficiency.ess_per_draw, _MIN_ESS_PER_DRAW)
        and trial.efficiency.least_per_draw >= _MIN_LEAST_RATIO * rival.efficiency.least_per_draw
        and trial.efficiency.ess_per_gradient > _STATIC_GAIN * rival.efficiency.ess_per_gradient
    )


def _best_length(state: WarmupState, longest: float, draws: int, score: Callable[[Trial, int], float]) -> Trial:
    """Try static trajectories, from a guess of the longest to the better side."""
    lengths = policy_of(state.tuning.metric).lengths
    trials, guess = min(_MAX_TRIALS, len(lengths)), _nearest(lengths, longest)
    evaluate = partial(_try_length, state, draws=draws // trials)
    return hill_climb(lengths, guess, evaluate, trials, lambda trial: score(trial, lengths[guess]))


def _per_draw(trial: Trial, guess: int) -> float:
    trajectory: Any = in_use(trial.tuning.trajectory)
    return trial.efficiency.ess_per_draw * (_KEEP_GUESS if int(trajectory.num_steps) == guess else 1.0)


def _per_gradient(trial: Trial, guess: int) -> float:
    return trial.efficiency.ess_per_gradient


def _try_length(state: WarmupState, longest: int, draws: int) -> Trial:
    static = Static(longest, policy_of(state.tuning.metric).jitter)
    return try_tuning(state, with_static(state.tuning, static), draws)


def _nearest(lengths: Sequence[int], wanted: float) -> int:
    return min(range(len(lengths)), key=lambda i: abs(lengths[i] - wanted))
