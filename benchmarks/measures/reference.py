"""Deviations of draws from known means and standard deviations, in Monte Carlo standard errors."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.measures.scalars import Draws
from mongepatch._extras import require


class KnownMoments(NamedTuple):
    """Mean and standard deviation of a quantity, with their standard errors."""

    mean: float
    sd: float
    mean_error: float = 0.0
    sd_error: float = 0.0


def known_from(draws: Draws) -> dict[str, KnownMoments]:
    """The moments of each quantity as draws [chain, draw] give them.

    The error of a standard deviation is that of the mean of squares, divided by twice the deviation. ArviZ takes the
    effective size of the values themselves for it. That is too large where draws are negatively correlated: squares
    are not.
    """
    mcse = require("arviz_stats.base", "sample", "A benchmark").array_stats.mcse

    def error_of_mean(values: np.ndarray) -> float:
        return float(mcse(values, chain_axis=0, draw_axis=1, method="mean"))

    def known(values: np.ndarray) -> KnownMoments:
        mean, sd = float(values.mean()), float(values.std())
        return KnownMoments(mean, sd, error_of_mean(values), error_of_mean((values - mean) ** 2) / (2.0 * sd))

    return {name: known(values) for name, values in draws.items()}


def deviations(draws: Draws, truth: Mapping[str, KnownMoments]) -> dict[str, float]:
    """Differences of every mean and standard deviation from the truth, in standard errors of both."""
    found = {}
    for name, seen in known_from({name: draws[name] for name in truth}).items():
        right = truth[name]
        found[f"mean of {name}"] = abs(seen.mean - right.mean) / np.hypot(seen.mean_error, right.mean_error)
        found[f"sd of {name}"] = abs(seen.sd - right.sd) / np.hypot(seen.sd_error, right.sd_error)
    return found


def largest_deviation(draws: Draws, truth: Mapping[str, KnownMoments]) -> float:
    """The largest of `deviations`."""
    return float(np.max(list(deviations(draws, truth).values())))
