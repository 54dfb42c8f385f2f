"""The trajectory: NUTS, or static trajectories of a length that a few trials find as good and cheaper.

A user who asks for 4 × 1000 draws wants them to be enough. So static trajectories must give at least as many effective
draws *per draw* as NUTS, and plainly many: only then does it count that they cost fewer gradients.

Where M suits a normal density, a trajectory turns x and velocity by an angle, and a quarter of a circle makes the next
draw independent of the last. Twice that is the opposite side: good for means, useless for squares. So the best length
is neither short nor long, and its steps vary little (`Policy.jitter`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mongepatch.trajectories import Static
from mongepatch.warmup.efficiency import Trial, TrialStatistics, hill_climb, try_tuning
from mongepatch.warmup.options import ToFind, policy_of
from mongepatch.warmup.state import WarmupState

_MAX_TRIALS = 3
_STATIC_GAIN = 1.1
"""How many times the effective draws per gradient of NUTS, which adapts to each place by itself, static trajectories
must give."""
_MIN_ESS_RATIO, _MIN_LEAST_RATIO, _MIN_ESS_PER_DRAW = 1.0, 0.75, 0.5
"""Effective draws per draw of static trajectories: relative to those of NUTS, the same for the parameter that has the
fewest, whose estimate errs most, and by themselves. Trials of good ones have 0.55 to 0.8."""
_QUARTER_CIRCLE = 2.7
"""The longest static trajectory times the ε of NUTS at which the mean one is a quarter of a circle. (Steps of static
trajectories are shorter by a quarter, and the mean length is three quarters of the longest.)"""
_LARGEST_TREE = 8.0
"""Steps of NUTS times ε up to which M suits the density: trees end between half a circle and a whole one."""
_PART_OF_TREE = 0.6
"""Beyond that, a guess of the longest static trajectory relative to the steps of NUTS."""
_KEEP_GUESS = 1.15
"""How many times as many effective draws another length must give in a trial than the guess."""


def choose_trajectory(state: WarmupState, to_find: ToFind, seen: TrialStatistics, draws: int) -> str:
    """Choose between NUTS and static trajectories of some length; say what was chosen."""
    if not to_find.trajectory:
        return ""
    if state.is_whitened:
        return "trajectory NUTS"
    trajectory: Any = state.tuning.trajectory
    if isinstance(trajectory, Static):
        state.set_target_acceptance(policy_of(state.tuning.metric).static_acceptance)
        best = _best_length(state, float(trajectory.num_steps), draws, _per_gradient)
        state.change(best.tuning, best.step_size)
        return _static_words(best)
    if seen.diverges:
        return "trajectory NUTS: some trajectories diverge, and a short run cannot tell how long they should be"
    if seen.is_careful:
        return "trajectory NUTS: steps are short for the stiffest places, and many are needed elsewhere"
    return _compare_with_static(state, seen, draws)


def _compare_with_static(state: WarmupState, seen: TrialStatistics, draws: int) -> str:
    """Take static trajectories where the best of them give as much as NUTS, for less."""
    rival = Trial(state.tuning, state.step_size, seen.ess_per_gradient, seen.ess_per_draw, seen.least_per_draw)
    acceptance = state.target_acceptance
    state.set_target_acceptance(policy_of(state.tuning.metric).static_acceptance)
    best = _best_length(state, _guess(float(seen.record.info.n_steps.mean()), rival.step_size), draws, _per_draw)
    if not _is_better(best, rival):
        state.set_target_acceptance(acceptance)
        state.change(rival.tuning, rival.step_size)
        return "trajectory NUTS: no static one gave as many effective draws in a trial, and more per gradient"
    state.change(best.tuning, best.step_size)
    ratio = best.ess_per_gradient / rival.ess_per_gradient
    return f"{_static_words(best)}: {ratio:.1f} times as many effective draws per gradient as NUTS in a trial"


def _guess(steps: float, step_size: float) -> float:
    """The longest static trajectory to begin with, from the mean number of steps of NUTS and its ε."""
    return _QUARTER_CIRCLE / step_size if steps * step_size < _LARGEST_TREE else _PART_OF_TREE * steps


def _is_better(trial: Trial, rival: Trial) -> bool:
    return (
        trial.ess_per_draw >= max(_MIN_ESS_RATIO * rival.ess_per_draw, _MIN_ESS_PER_DRAW)
        and trial.least_per_draw >= _MIN_LEAST_RATIO * rival.least_per_draw
        and trial.ess_per_gradient > _STATIC_GAIN * rival.ess_per_gradient
    )


def _static_words(trial: Trial) -> str:
    trajectory: Any = trial.tuning.trajectory
    return f"trajectory static, up to {int(trajectory.num_steps)} steps"


def _best_length(state: WarmupState, longest: float, draws: int, score: Callable[[Trial, int], float]) -> Trial:
    """Try static trajectories, from a guess of the longest to the better side."""
    lengths = policy_of(state.tuning.metric).lengths
    trials, guess = min(_MAX_TRIALS, len(lengths)), _nearest(lengths, longest)
    evaluate = partial(_try_length, state, draws=draws // trials)
    return hill_climb(lengths, guess, evaluate, trials, lambda trial: score(trial, lengths[guess]))


def _per_draw(trial: Trial, guess: int) -> float:
    trajectory: Any = trial.tuning.trajectory
    return trial.ess_per_draw * (_KEEP_GUESS if int(trajectory.num_steps) == guess else 1.0)


def _per_gradient(trial: Trial, guess: int) -> float:
    return trial.ess_per_gradient


def _try_length(state: WarmupState, longest: int, draws: int) -> Trial:
    trajectory = Static(longest, policy_of(state.tuning.metric).jitter)
    return try_tuning(state, state.tuning._replace(trajectory=trajectory), draws)


def _nearest(lengths: Sequence[int], wanted: float) -> int:
    return min(range(len(lengths)), key=lambda i: abs(lengths[i] - wanted))
