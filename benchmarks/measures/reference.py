"""How far draws are from what is known, in Monte Carlo standard errors."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mongepatch._extras import require


class Known(NamedTuple):
    """Mean and standard deviation of a quantity, and how well they are known."""

    mean: float
    sd: float
    mean_error: float = 0.0
    sd_error: float = 0.0


def known_from(draws: Mapping[str, np.ndarray]) -> dict[str, Known]:
    """What draws [chain, draw] say of each quantity.

    The error of a standard deviation is that of the mean of squares, over twice the deviation. ArviZ takes the
    effective size of the values themselves for it, which is too large wherever draws are spread better than
    independent ones: squares are not.
    """
    mcse = require("arviz_stats.base", "sample", "A bench").array_stats.mcse

    def error_of_mean(values: np.ndarray) -> float:
        return float(mcse(values, chain_axis=0, draw_axis=1, method="mean"))

    def known(values: np.ndarray) -> Known:
        mean, sd = float(values.mean()), float(values.std())
        return Known(mean, sd, error_of_mean(values), error_of_mean((values - mean) ** 2) / (2.0 * sd))

    return {name: known(values) for name, values in draws.items()}


def deviations(draws: Mapping[str, np.ndarray], truth: Mapping[str, Known]) -> dict[str, float]:
    """Differences of every mean and standard deviation from the truth, in standard errors of both."""
    found = {}
    for name, seen in known_from({name: draws[name] for name in truth}).items():
        right = truth[name]
        found[f"mean of {name}"] = abs(seen.mean - right.mean) / np.hypot(seen.mean_error, right.mean_error)
        found[f"sd of {name}"] = abs(seen.sd - right.sd) / np.hypot(seen.sd_error, right.sd_error)
    return found


def largest_deviation(draws: Mapping[str, np.ndarray], truth: Mapping[str, Known]) -> float:
    """The largest of them."""
    return float(np.max(list(deviations(draws, truth).values())))


def flattened(draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every scalar of draws [chain, draw, …] by a name of its own."""
    flat = {}
    for name, values in draws.items():
        for index in np.ndindex(values.shape[2:]):
            flat[f"{name}{list(index) if index else ''}"] = values[(slice(None), slice(None), *index)]
    return flat
