"""Known quantiles, and deviations of draws from them.

Draws are right about a quantile if the right fraction of them is below it. The answer is the same for a scale as for
its logarithm, and heavy tails do not affect it. Differences of fractions are in Monte Carlo standard errors.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.measures.effective_size import effective_size
from mongepatch.targets.truth import Marginal

FAR = 4.0
"""Largest deviation from the truth, in standard errors, of draws that count as right."""
DEEP = 0.001
"""A probability so small that short runs have only a few draws below its quantile: reported, and not checked."""
NECK = (DEEP, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Probabilities for log scales, where errors of samplers appear first."""
OTHER = (0.05, 0.5, 0.95)
"""Probabilities for all other quantities."""


class KnownQuantile(NamedTuple):
    """The probability below a value, the value, and the standard error of the probability."""

    probability: float
    value: float
    error: float = 0.0


KnownQuantiles: TypeAlias = Mapping[str, tuple[KnownQuantile, ...]]
"""By name of a quantity."""


def exact_quantiles(marginal: Marginal, probabilities: Iterable[float]) -> tuple[KnownQuantile, ...]:
    """Quantiles of a known distribution."""
    return tuple(KnownQuantile(p, float(np.squeeze(marginal.quantile(p)))) for p in probabilities)


def estimated_quantiles(draws: np.ndarray, probabilities: Iterable[float]) -> tuple[KnownQuantile, ...]:
    """Quantiles from draws [chain, draw]."""
    values = [(p, float(np.quantile(draws, p))) for p in probabilities]
    return tuple(KnownQuantile(p, value, error_of_fraction(draws, p, value)) for p, value in values)


def error_of_fraction(draws: np.ndarray, probability: float, value: float) -> float:
    """The standard error of the fraction of draws below a value, given the probability below it."""
    below = draws < value
    # Without a draw beyond the value, the indicator has no effective size of its own: that of the draws stands in.
    size = effective_size(draws, "bulk") if below.all() or not below.any() else effective_size(below, "mean")
    return float(np.sqrt(probability * (1.0 - probability) / size))


def quantile_deviation(draws: np.ndarray, quantiles: Iterable[KnownQuantile]) -> float:
    """The largest difference of a fraction of draws [chain, draw] from the truth, in standard errors of both."""
    return max(
        abs((draws < value).mean() - probability) / np.hypot(error_of_fraction(draws, probability, value), error)
        for probability, value, error in quantiles
        if probability != DEEP
    )
