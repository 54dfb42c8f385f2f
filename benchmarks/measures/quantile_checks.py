"""Quantiles of the truth, and how far draws are from them.

Draws are right about a quantile if the right share of them is below it. That is the same question for a scale as for
its logarithm, and heavy tails do not matter to it. Differences of shares are in Monte Carlo standard errors.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from mongepatch._extras import require
from mongepatch.targets.truth import Marginal

DEEP = 0.001
"""A share so small that short runs have a handful of draws below it: it is told, and not judged by."""
NECK = (DEEP, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Shares of log-scales, where errors of samplers are found first."""
OTHER = (0.05, 0.5, 0.95)
TAILS = (0.05, 0.95)
"""Quantiles of which a tail's effective size is the lesser."""


class Landmark(NamedTuple):
    """A value, the share of the distribution below it, and the standard error of that share."""

    share: float
    value: float
    error: float = 0.0


Landmarks: TypeAlias = Mapping[str, tuple[Landmark, ...]]


def exactly(marginal: Marginal, shares: Iterable[float]) -> tuple[Landmark, ...]:
    """Landmarks of a known distribution."""
    return tuple(Landmark(share, float(np.squeeze(marginal.quantile(share)))) for share in shares)


def estimated(draws: np.ndarray, shares: Iterable[float]) -> tuple[Landmark, ...]:
    """Landmarks from draws [chain, draw]."""
    values = [(share, float(np.quantile(draws, share))) for share in shares]
    return tuple(Landmark(share, value, error_of_share(draws, share, value)) for share, value in values)


def error_of_share(draws: np.ndarray, share: float, value: float) -> float:
    """The standard error of the share of draws below a value, where `share` of the distribution is."""
    below = draws < value
    # No draw beyond a landmark: draws that are worth many independent ones should have had some.
    size = effective_size(draws, "bulk") if below.all() or not below.any() else effective_size(below, "mean")
    return float(np.sqrt(share * (1.0 - share) / size))


def effective_size(draws: np.ndarray, method: str) -> float:
    """ArviZ's, of one quantity [chain, draw]; one for draws that never move."""
    ess = require("arviz_stats.base", "sample", "A bench").array_stats.ess
    draws = draws.astype(float)
    if np.ptp(draws) == 0:
        return 1.0
    size = float(ess(draws, chain_axis=0, draw_axis=1, method=method, prob=TAILS if method == "tail" else None))
    return size if np.isfinite(size) else 1.0


def deviation(draws: np.ndarray, landmarks: Iterable[Landmark]) -> float:
    """The largest difference of a share of the draws [chain, draw] from the truth, in standard errors of both."""
    return max(
        abs((draws < value).mean() - share) / np.hypot(error_of_share(draws, share, value), error)
        for share, value, error in landmarks
        if share != DEEP
    )
