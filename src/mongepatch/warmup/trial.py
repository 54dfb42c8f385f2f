"""What a set of constants is worth: effective draws for their cost, from a few draws."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from mongepatch._extras import require
from mongepatch.chains import Record, Settings
from mongepatch.warmup.rehearsal import Rehearsal

T = TypeVar("T")

OVERHEAD = 1.0
"""What a draw costs besides its trajectory, in gradients: noise, a record, a reader's time."""
SEARCH = 0.4
"""Share of a trial's draws in which the step size is looked for."""
FLOOR = 3.0
"""Effective draws of a chain up to which a short run cannot tell one setting from another."""
ROUGH = 0.002
"""Share of divergent trajectories above which the density is called rough."""
_HOPE = 1e-9
"""Worth of a step where nothing can be told: the longer a trajectory the better, and worse than all that can."""
RELIABLE = 1e-6
"""Worth above which there is evidence for it."""
_MOST_PARAMETERS = 100
"""Parameters that are looked at; in larger models, every so many."""


class Trial(NamedTuple):
    """Constants that were tried."""

    settings: Settings
    step_size: float
    worth: float
    """Effective draws for each gradient-equivalent that all chains together waited for."""


class Look(NamedTuple):
    """How some draws went."""

    record: Record
    seconds: float
    """How long they took, compilation excluded."""

    @property
    def diverging(self) -> float:
        """Share of divergent trajectories."""
        return float(self.record.info.diverging.mean())

    @property
    def rough(self) -> bool:
        """Whether the density is rough: no metric of constant scale suits it."""
        return self.diverging > ROUGH

    @property
    def slow(self) -> bool:
        """Whether there are too few effective draws to say how many."""
        return not self.per_second > 0.0

    @property
    def worth(self) -> float:
        """Effective draws for their cost in gradients."""
        return worth(self.record)

    @property
    def per_second(self) -> float:
        """Effective draws a second; 0 where there are too few to tell."""
        size = effective_size(self.record)
        return size / self.seconds if size > FLOOR * len(self.record.position) else 0.0


def look(rehearsal: Rehearsal, draws: int) -> Look:
    """Make some draws and keep time."""
    before = rehearsal.runner.seconds
    record = rehearsal.run(draws)
    return Look(record, rehearsal.runner.seconds - before)


def attempt(rehearsal: Rehearsal, settings: Settings, draws: int) -> Trial:
    """Try some settings for a number of draws, at least 2: look for their step size, then measure."""
    search = max(1, round(SEARCH * draws))
    rehearsal.change(settings)
    rehearsal.run(search)
    rehearsal.settle()
    record = rehearsal.run(max(1, draws - search))
    return Trial(rehearsal.settings, float(rehearsal.pace.step_size), worth(record))


def worth(record: Record) -> float:
    """Effective draws over what they cost.

    Chains in lockstep wait for the one with the longest trajectory, so that a draw of all costs as much as if each had
    taken the longest. Runs that are too short for their slowest parameter have next to no worth, and the more of it the
    longer their trajectories.
    """
    chains = len(record.position)
    size = effective_size(record)
    if size and not size > FLOOR * chains:
        return _HOPE * float(record.info.n_steps.mean())
    return float(size / (chains * (record.info.n_grad.max(axis=0) + OVERHEAD).sum()))


def effective_size(record: Record) -> float:
    """The least effective size over parameters and their squares; 0 where nothing moves.

    More effective draws than draws, as paths give that lead to the far side, count as draws: what is won there is lost
    on squares.
    """
    chains, draws, dimension = record.position.shape
    values = record.position[..., :: -(-dimension // _MOST_PARAMETERS)]
    quantities = np.concatenate([values, (values - values.mean(axis=(0, 1))) ** 2], axis=-1)
    if draws < 4 or not np.isfinite(quantities).all() or not (np.ptp(quantities, axis=(0, 1)) > 0).all():
        return 0.0
    ess = require("arviz_stats.base", "sample", "Warm-up").array_stats.ess
    size = float(np.min(ess(quantities, chain_axis=0, draw_axis=1, method="mean")))
    return min(size, float(chains * draws))


def climb(values: Sequence[T], start: int, attempt: Callable[[T], Trial], trials: int) -> Trial:
    """The best of a few values in a row: try one and its neighbours, and go on to the better side."""
    tried = {start: attempt(values[start])}
    while len(tried) < trials:
        best = max(tried, key=lambda i: tried[i].worth)
        fresh = [i for i in (best - 1, best + 1) if 0 <= i < len(values) and i not in tried]
        if not fresh:
            break
        tried[fresh[0]] = attempt(values[fresh[0]])
    return max(tried.values(), key=lambda trial: trial.worth)
