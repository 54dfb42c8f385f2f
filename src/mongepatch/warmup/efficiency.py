"""How efficient some tuning parameters are: effective draws for their cost, estimated from a few draws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple, TypeVar

import numpy as np

from mongepatch.chains import Record, Tuning
from mongepatch.chains.chunks import OWN_PACE_CHAINS
from mongepatch.chains.effective_size import effective_sizes, effective_sizes_by_chains
from mongepatch.warmup.state import WarmupState
from mongepatch.warmup.tree_depth import MANY_CHAINS

T = TypeVar("T")

OVERHEAD = 1.0
"""Cost of a draw besides its trajectory, in gradients: random numbers, statistics, storage."""
SEARCH_FRACTION = 0.4
"""Fraction of a trial's draws in which the step size is adapted."""
MIN_ESS_PER_CHAIN = 3.0
"""Effective draws of a chain up to which a short run cannot tell one setting from another."""
MAX_DIVERGING_FRACTION = 0.002
"""Fraction of divergent trajectories above which a constant metric is said not to suit the density."""
MIN_BFMI = 0.3
"""Bayesian fraction of missing information below which energies are said to mix slowly."""
_UNKNOWN_PER_STEP = 1e-9
"""Stands for the effective draws per gradient where a run is too short to estimate them, times the mean number of
steps: longer trajectories are preferred, and anything that can be estimated is preferred to all of them."""
_MAX_PARAMETERS, _MAX_CHAINS = 100, 1024
"""Parameters and chains that are looked at; of more, every so many."""


class Efficiency(NamedTuple):
    """Effective draws of some draws, for their cost."""

    ess_per_gradient: float
    """Effective draws for each gradient-equivalent that all chains together waited for.

    Chains in lockstep wait for the one with the longest trajectory, so that a draw of all costs as much as if each had
    taken the longest. Many chains wait at the end alone, for the one whose trajectories are the longest together. For
    runs that are too short for their slowest parameter see `_UNKNOWN_PER_STEP`.
    """
    ess_per_draw: float
    """Effective draws for each draw, at most 1: of the lower quarter of parameters and their squares.

    The smallest of many estimates from a short run is the one that errs most, and would decide by chance.
    """
    least_per_draw: float
    """The same of the parameter or square that has the fewest; 0 where one does not move.

    An effective size above the number of draws counts as that number: antithetic draws gain it for means and lose it on
    squares.
    """


class Trial(NamedTuple):
    """Tuning parameters that were tried."""

    tuning: Tuning
    step_size: float
    efficiency: Efficiency
    """In the coordinates that chains move in."""


@dataclass(frozen=True)
class TrialStatistics:
    """How some draws went."""

    record: Record
    seconds: float
    """How long they took, compilation excluded."""
    is_careful: bool = False
    """Whether steps were shortened for places that are stiffer than most."""

    @property
    def diverging_fraction(self) -> float:
        """Fraction of divergent trajectories."""
        return float(self.record.info.diverging.mean())

    @property
    def diverges(self) -> bool:
        """Whether more trajectories diverge than a suitable metric would let."""
        return self.diverging_fraction > MAX_DIVERGING_FRACTION

    @property
    def too_slow_to_tell(self) -> bool:
        """Whether there are too few effective draws to estimate how many."""
        return not self.ess_per_second > 0.0

    @property
    def bfmi(self) -> float:
        """The Bayesian fraction of missing information: of the chain in which it is smallest, or of all of many."""
        energy = np.asarray(self.record.info.energy)
        return pooled_bfmi(energy) if len(energy) >= MANY_CHAINS else smallest_bfmi(energy)

    @cached_property
    def efficiency(self) -> "Efficiency":
        """Effective draws for their cost."""
        return efficiency_of(self.record)

    @cached_property
    def internal_efficiency(self) -> "Efficiency":
        """The same in the coordinates that chains move in."""
        record = self.record
        same = record.internal is None or np.array_equal(record.internal, record.position)
        return self.efficiency if same else internal_efficiency_of(record)

    @property
    def ess_per_second(self) -> float:
        """Effective draws per second; 0 where there are too few to tell."""
        size = self.efficiency.least_per_draw * self.record.info.n_steps.size
        return size / self.seconds if size > MIN_ESS_PER_CHAIN * len(self.record.position) else 0.0


def run_trial(state: WarmupState, draws: int) -> TrialStatistics:
    """Make some draws and measure the time."""
    before = state.runner.seconds
    record = state.run(draws)
    return TrialStatistics(record, state.runner.seconds - before)


def try_tuning(
    state: WarmupState,
    tuning: Tuning,
    draws: int,
    settle: Callable[[WarmupState], None] | None = None,
    step_size: float | None = None,
) -> Trial:
    """Try tuning parameters for a number of draws, at least 2: adapt their step size, then measure.

    Args:
        state: of warm-up.
        tuning: what is tried.
        draws: of each chain.
        settle: changes what depends on the first draws, such as the step size that was found.
        step_size: one that is held, rather than adapted.
    """
    search = max(1, round(SEARCH_FRACTION * draws))
    state.change(tuning)
    if step_size is not None:
        state.hold_step_size(step_size)
    state.run(search)
    state.finish_step_size()
    if settle is not None:
        settle(state)
    record = state.run(max(1, draws - search))
    return Trial(state.tuning, state.step_size, internal_efficiency_of(record))


def smallest_bfmi(energy: np.ndarray) -> float:
    """The smallest Bayesian fraction of missing information of chains, from energies [chain, draw]; ∞ for none."""
    energy = energy.astype(np.float64)
    variance = energy.var(axis=1)
    fractions = (np.diff(energy, axis=1) ** 2).mean(axis=1) / np.where(variance > 0, variance, np.inf)
    return float(fractions[variance > 0].min(initial=np.inf))


def pooled_bfmi(energy: np.ndarray) -> float:
    """The Bayesian fraction of missing information of all chains together; ∞ where energies do not vary.

    Of hundreds of chains with a dozen draws each, the smallest would be small by chance.
    """
    energy = energy.astype(np.float64)
    variance = energy.var()
    return float((np.diff(energy, axis=1) ** 2).mean() / variance) if variance > 0 else np.inf


def efficiency_of(record: Record) -> Efficiency:
    """Effective draws for their cost, of the model's parameters and their squares."""
    return _efficiency(record.position, record)


def internal_efficiency_of(record: Record) -> Efficiency:
    """The same in the coordinates that chains move in, for comparisons of trajectories.

    They are nearly normal, so that a short run tells more: squares of parameters with long tails hang on a few draws.
    """
    return efficiency_of(record) if record.internal is None else _efficiency(record.internal, record)


def _efficiency(positions: np.ndarray, record: Record) -> Efficiency:
    """Effective draws of positions [chain, draw, parameter], of all chains or of some, for the cost of a record."""
    chains, draws = record.position.shape[:2]
    some = _some_parameters(positions[:: max(1, len(positions) // _MAX_CHAINS)])
    total = len(some) * draws
    found = effective_sizes_by_chains(some) if len(some) >= MANY_CHAINS else effective_sizes(some, "mean", squares=True)
    sizes = np.minimum(found, total) / total
    least, quarter = float(sizes.min()), float(np.quantile(sizes, 0.25))
    return Efficiency(_per_gradient(least * chains * draws, record), quarter, least)


def _per_gradient(size: float, record: Record) -> float:
    """So many effective draws over their cost in gradients."""
    chains = len(record.position)
    if size and not size > MIN_ESS_PER_CHAIN * chains:
        return _UNKNOWN_PER_STEP * float(record.info.n_steps.mean())
    costs = record.info.n_grad + OVERHEAD
    waited_for = costs.sum(axis=1).max() if chains >= OWN_PACE_CHAINS else costs.max(axis=0).sum()
    return float(size / (chains * waited_for))


def _some_parameters(positions: np.ndarray) -> np.ndarray:
    return positions[..., :: -(-positions.shape[-1] // _MAX_PARAMETERS)]


def hill_climb(
    values: Sequence[T],
    start: int,
    evaluate: Callable[[T], Trial],
    trials: int,
    score: Callable[[Trial], float] = attrgetter("efficiency.ess_per_gradient"),
) -> Trial:
    """The best of a few values in a row: try one and its neighbours, and go on to the better side."""
    tried = {start: evaluate(values[start])}
    while len(tried) < trials:
        best = max(tried, key=lambda i: score(tried[i]))
        fresh = [i for i in (best - 1, best + 1) if 0 <= i < len(values) and i not in tried]
        if not fresh:
            break
        tried[fresh[0]] = evaluate(values[fresh[0]])
    return max(tried.values(), key=score)
