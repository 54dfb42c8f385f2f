"""The length of static trajectories, by what is most worth: effective draws for their cost."""

from mongepatch.chains import Settings
from mongepatch.trajectories import Static
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.trial import Trial, attempt, climb

LENGTHS = (1, *sorted({part * 2**k for part in (2, 3) for k in range(9)}))
"""Longest trajectories that are tried, in steps."""
JITTER = 1.0
"""The number of steps is drawn from 1 … longest, so that no direction's period is met for long."""
TRIALS = 5


def choose_length(rehearsal: Rehearsal, longest: float, draws: int) -> Trial:
    """Try static trajectories, from a guess of the longest to the better side."""
    start = min(range(len(LENGTHS)), key=lambda i: abs(LENGTHS[i] - longest))

    def try_length(longest: int) -> Trial:
        settings = Settings(rehearsal.settings.metric, Static(longest, JITTER))
        return attempt(rehearsal, settings, draws // TRIALS)

    return climb(LENGTHS, start, try_length, TRIALS)
