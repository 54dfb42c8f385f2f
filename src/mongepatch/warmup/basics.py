"""What every warm-up looks for first and last: the step size, and M."""

from dataclasses import replace
from typing import Any

from mongepatch.metrics.inverse_mass import Diagonal
from mongepatch.warmup.mass import estimate
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.scales import variances
from mongepatch.warmup.schedule import FIRST, windows
from mongepatch.warmup.unknowns import Unknowns

ACCEPTANCE, CAREFUL = 0.8, 0.9
"""The acceptance rate to look for; and for a patch, or where trajectories diverge and no metric helps."""
_STRICT = 2
"""Windows in which chains may still be on their way, and none may be left behind."""


def basics(rehearsal: Rehearsal, unknowns: Unknowns, draws: int, first: int = FIRST) -> None:
    """Step size, and M where it is unknown."""
    for number, window in enumerate(windows(draws, mass=unknowns.structure is not None, first=first)):
        if number == _STRICT:
            rehearsal.arrive()
        record = rehearsal.run(window.draws)
        if not window.mass or unknowns.structure is None or record.gradient is None:
            continue
        metric: Any = rehearsal.settings.metric  # one with a base, or its structure would not be unknown
        if isinstance(metric.inverse_mass, Diagonal):
            base: Any = variances(record.position.reshape(-1, record.position.shape[-1]), metric.inverse_mass)
        else:
            base = estimate(record.position, record.gradient, metric.inverse_mass, unknowns.structure)
        rehearsal.change(rehearsal.settings._replace(metric=replace(metric, inverse_mass=base)))
    rehearsal.arrive()
