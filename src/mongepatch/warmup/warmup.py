"""Warm-up as a whole: what the user left open is found, in an order in which each value helps to find the next."""

from typing import NamedTuple

from mongepatch.warmup.choose_metric import choose_metric
from mongepatch.warmup.choose_trajectory import choose_trajectory
from mongepatch.warmup.curvature import recent_unstable_fraction
from mongepatch.warmup.efficiency import run_trial
from mongepatch.warmup.options import CAREFUL_ACCEPTANCE, ToFind, policy_of
from mongepatch.warmup.schedule import adapt_step_size_and_mass
from mongepatch.warmup.state import WarmupState

MIN_DRAWS_TO_CHOOSE = 300
"""Draws below which only the step size and M are found."""
_ADAPTATION, _TRIAL, _PATCH, _ALPHA, _LENGTH = 0.3, 0.08, 0.12, 0.06, 0.3
"""Fractions of the draws: step size and M at first, a trial of them, the same with a patch, the α of a patch, and the
length of static trajectories."""


class Choice(NamedTuple):
    """What was chosen, for a person to read, and what must be said of it."""

    metric: str
    trajectory: str
    unstable_fraction: float = 0.0
    """Fraction of the last draws at which steps in a constant metric are unstable; 0 where that was not looked at."""

    @property
    def line(self) -> str:
        """What was chosen, in one line."""
        return "; ".join(part for part in (self.metric, self.trajectory) if part)


def warm_up(state: WarmupState, to_find: ToFind, draws: int) -> Choice:
    """Find what is to be found in this many draws of every chain."""
    state.set_target_acceptance(policy_of(state.tuning.metric).target_acceptance)
    if draws < MIN_DRAWS_TO_CHOOSE:
        adapt_step_size_and_mass(state, to_find, draws)
        state.finish_step_size()
        asked = to_find.metric or to_find.alpha or to_find.trajectory
        left_out = f"with warmup below {MIN_DRAWS_TO_CHOOSE} no metric and no trajectory is chosen"
        return Choice(to_find.whitening.words if to_find.whitening else "", left_out if asked else "")
    adapt_step_size_and_mass(state, to_find, round(_ADAPTATION * draws))
    state.finish_step_size()
    seen = run_trial(state, round(_TRIAL * draws))
    before = type(state.tuning.metric)
    metric = choose_metric(state, to_find, seen, round(_PATCH * draws), round(_ALPHA * draws))
    if seen.diverges and type(state.tuning.metric) is before:
        state.set_target_acceptance(CAREFUL_ACCEPTANCE)
    trajectory = choose_trajectory(state, to_find, seen, round(_LENGTH * draws))
    left = draws - state.draws
    state.change(state.tuning)
    adapt_step_size_and_mass(state, to_find, left, first=left // 2)
    state.finish_step_size()
    return Choice(metric, trajectory, recent_unstable_fraction(state))
