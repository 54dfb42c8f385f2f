"""Warm-up as a whole: what the user left open is found, in an order in which each value helps to find the next."""

from typing import NamedTuple

from mongepatch._typing import LogDensity
from mongepatch.chains import Tuning
from mongepatch.coordinates import MappedDensity
from mongepatch.trajectories import NUTS, Static
from mongepatch.warmup.choose_metric import choose_metric, take_care
from mongepatch.warmup.choose_trajectory import choose_trajectory, is_round
from mongepatch.warmup.curvature import recent_unstable_fraction
from mongepatch.warmup.efficiency import TrialStatistics, run_trial
from mongepatch.warmup.maps import words
from mongepatch.warmup.options import CAREFUL_ACCEPTANCE, ToFind, policy_of
from mongepatch.warmup.schedule import adapt_step_size_and_mass
from mongepatch.warmup.state import WarmupState
from mongepatch.warmup.tree_depth import MANY_CHAINS, limits_depth, with_depth_limit

MIN_DRAWS_TO_CHOOSE = 300
"""Draws below which only the step size and M are found."""
MIN_DRAWS_OF_MANY = 100
"""The same with many chains."""
DEFAULT_DRAWS, DEFAULT_DRAWS_OF_MANY = 1000, 100
"""Draws of warm-up where the user does not say, for few chains and for many."""
EASY_DRAWS = 600
"""The same for few chains, where a first trial finds nothing that is left to improve."""
_ADAPTATION, _TRIAL, _CARE, _PATCH, _ALPHA, _LENGTH = 0.3, 0.08, 0.04, 0.12, 0.06, 0.3
"""Fractions of the draws: step size and M at first, a trial of them, a shorter step where that is in trouble, the same
with a patch, the α of a patch, and the length of static trajectories."""
_MIN_TRIAL, _MIN_ALPHA = 12, 15
"""Draws of a trial and for the α of a patch, where these fractions are fewer."""
_EASY_BFMI, _EASY_ESS_PER_DRAW, _EASY_LEAST_PER_DRAW = 0.6, 0.25, 0.1
"""What a trial of the first M must exceed, for a warm-up that ends early: the Bayesian fraction of missing information,
and effective draws per draw, of the lower quarter of parameters and squares and of the least of them."""
_EASY_DRAWS_PER_PARAMETER = 40
"""Draws of all chains for each parameter, below which more of them make a better M: with 100 parameters and four chains
a short warm-up costs a fifth of the effective draws."""


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


def default_warmup(chains: int) -> int:
    """How many draws of warm-up to make for so many chains, where the user does not say."""
    return DEFAULT_DRAWS_OF_MANY if chains >= MANY_CHAINS else DEFAULT_DRAWS


def _least_to_choose(chains: int) -> int:
    """The fewest draws of so many chains from which a metric and a trajectory are chosen."""
    return MIN_DRAWS_OF_MANY if chains >= MANY_CHAINS else MIN_DRAWS_TO_CHOOSE


def tuning_to_begin(tuning: Tuning, density: LogDensity, chains: int) -> Tuning:
    """What the first draws of warm-up are made with, from what the user leaves it to begin with."""
    if not limits_depth(tuning.trajectory, density, chains):
        return tuning
    return tuning._replace(trajectory=with_depth_limit(tuning.trajectory))


def tuning_to_try(tuning: Tuning, to_find: ToFind, draws: int, chains: int) -> Tuning | None:
    """What this many draws of warm-up will most probably try after the tuning that they begin with; None for nothing.

    Divergent trajectories, or another metric, may make it unnecessary.
    """
    tries = to_find.trajectory and draws >= _least_to_choose(chains)
    static = Static(1, policy_of(tuning.metric).jitter)
    return tuning._replace(trajectory=static) if tries and isinstance(tuning.trajectory, NUTS) else None


def warm_up(state: WarmupState, to_find: ToFind, draws: int, *, may_end_early: bool = False) -> Choice:
    """Find what is to be found in this many draws of every chain, or in fewer where that may be and they are enough."""
    state.set_target_acceptance(policy_of(state.tuning.metric).target_acceptance)
    least = _least_to_choose(len(state.points.logdensity))
    if draws < least:
        choice = _adapt_alone(state, to_find, draws, least)
    else:
        fewest = EASY_DRAWS if may_end_early and _are_enough(EASY_DRAWS, state) else draws
        choice = _choose_all(state, to_find, draws, min(fewest, draws))
    state.finish_step_size()
    state.end_depth_limit()
    density = state.runner.density
    about_maps = words(density.outer_map) if isinstance(density, MappedDensity) else ""
    return choice._replace(metric="; ".join(filter(None, [about_maps, choice.metric])))


def _adapt_alone(state: WarmupState, to_find: ToFind, draws: int, least: int) -> Choice:
    """Find the step size, M and coordinates."""
    adapt_step_size_and_mass(state, to_find, draws)
    asked = to_find.metric or to_find.alpha or to_find.trajectory
    left_out = f"with warmup below {least} no metric and no trajectory is chosen"
    return Choice(to_find.whitening.words if to_find.whitening else "", left_out if asked else "")


def _choose_all(state: WarmupState, to_find: ToFind, most: int, fewest: int) -> Choice:
    """Find these and choose a metric; with enough draws for trials of some lengths, a trajectory too.

    A warm-up that may be shorter is planned as the shorter one, until a trial tells.
    """
    draws, seen = fewest, _first_trial(state, to_find, round(_ADAPTATION * fewest), fewest)
    if fewest < most and not is_easy(seen, state.angle):
        draws, seen = most, _first_trial(state, to_find, round(_ADAPTATION * (most - fewest)), most)
    trial_draws = _trial_draws(draws)
    seen = take_care(state, to_find, seen, max(round(_CARE * draws), 1), trial_draws)
    before = type(state.tuning.metric)
    alpha_draws = max(round(_ALPHA * draws), _MIN_ALPHA)
    metric = choose_metric(state, to_find, seen, round(_PATCH * draws), alpha_draws)
    if seen.diverges and type(state.tuning.metric) is before:
        state.set_target_acceptance(CAREFUL_ACCEPTANCE)
    if seen.diverges or seen.is_careful:
        draws = most
    length_draws = min(round(_LENGTH * draws), (draws - state.draws) // 2)
    trajectory = choose_trajectory(state, to_find, seen, length_draws, tries_lengths=draws >= MIN_DRAWS_TO_CHOOSE)
    left = draws - state.draws
    state.change(state.tuning)
    adapt_step_size_and_mass(state, to_find, left, first=left // 2)
    state.finish_step_size()
    return Choice(metric, trajectory.settle(state), recent_unstable_fraction(state))


def _first_trial(state: WarmupState, to_find: ToFind, adaptation: int, draws: int) -> TrialStatistics:
    """Adapt the step size, M and coordinates, and try them as a warm-up of so many draws does."""
    first = None if state.is_transient else adaptation // 2
    adapt_step_size_and_mass(state, to_find, adaptation, first=first)
    state.finish_step_size()
    return run_trial(state, _trial_draws(draws))


def _are_enough(draws: int, state: WarmupState) -> bool:
    """Whether so many draws of few chains can tell how all parameters vary, and depend on each other."""
    chains, dimension = state.points.position.shape
    return not state.has_many_chains and chains * draws >= _EASY_DRAWS_PER_PARAMETER * dimension


def _trial_draws(draws: int) -> int:
    return max(round(_TRIAL * draws), _MIN_TRIAL)


def is_easy(seen: TrialStatistics, angle: float) -> bool:
    """Whether chains mix at once, and M suits the density: draws that follow would find no better one."""
    steps = float(seen.record.info.n_steps.mean())
    return (
        seen.diverging_fraction == 0
        and seen.bfmi > _EASY_BFMI
        and is_round(steps, angle)
        and seen.efficiency.ess_per_draw > _EASY_ESS_PER_DRAW
        and seen.efficiency.least_per_draw > _EASY_LEAST_PER_DRAW
    )
