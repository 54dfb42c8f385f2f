"""The length of static trajectories, by what is most worth: effective draws for their cost."""

from mongepatch.metrics import Patch
from mongepatch.trajectories import Static
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.trial import Trial, attempt, climb

LENGTHS = (1, *sorted({part * 2**k for part in (2, 3) for k in range(9)}))
"""Longest trajectories that are tried, in steps."""
PATCH_LENGTHS = (20, 40)
"""The same for a patch. A few draws on a hard density cannot tell that trajectories are too short for it: none is
shorter than what suits most. Small models yield about as much a second at 12 steps as at 28; a hundred groups yield
half as much again at 20 as at 12, and twice as much a draw. `mongepatch bench lengths` measures it."""
JITTER = 1.0
"""The number of steps is drawn from 1 … longest, so that no direction's period is met for long."""
FIRST_LENGTH = 8
"""Longest trajectories, in steps, before a length is known."""
_TRIALS = 5


def choose_length(rehearsal: Rehearsal, longest: float, draws: int) -> Trial:
    """Try static trajectories, from a guess of the longest to the better side."""
    lengths = PATCH_LENGTHS if isinstance(rehearsal.settings.metric, Patch) else LENGTHS
    start = min(range(len(lengths)), key=lambda i: abs(lengths[i] - longest))
    trials = min(_TRIALS, len(lengths))

    def try_length(longest: int) -> Trial:
        settings = rehearsal.settings._replace(trajectory=Static(longest, JITTER))
        return attempt(rehearsal, settings, draws // trials)

    return climb(lengths, start, try_length, trials)
