"""Deviation of many chains from a known distribution, or from a run in double precision, in standard errors."""

import numpy as np

from mongepatch.targets.truth import Marginal

MANY = 256
"""Chains from which the spread of their means is a good estimate of a standard error."""
PROBABILITIES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def deviation(values: np.ndarray, truth: Marginal | np.ndarray) -> float:
    """Largest difference of the fraction of values [chain, draw] below a quantile of the truth, in standard errors.

    Chains are independent, so that the spread of their own fractions gives the standard error. Where the truth is a run
    [chain, draw], its standard error counts as well.
    """
    return max(_difference(values, truth, probability) for probability in PROBABILITIES)


def _difference(values: np.ndarray, truth: Marginal | np.ndarray, probability: float) -> float:
    if isinstance(truth, np.ndarray):
        quantile = float(np.quantile(truth, probability))
        wanted, error = _fraction(truth, quantile)
    else:
        quantile, wanted, error = float(np.squeeze(truth.quantile(probability))), probability, 0.0
    seen, own_error = _fraction(values, quantile)
    return abs(seen - wanted) / max(float(np.hypot(own_error, error)), np.finfo(float).tiny)


def _fraction(values: np.ndarray, quantile: float) -> tuple[float, float]:
    """The fraction below a quantile, and its standard error."""
    below = (values < quantile).mean(axis=1)
    return float(below.mean()), float(below.std() / np.sqrt(len(below)))
