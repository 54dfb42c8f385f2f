"""Distances of draws of one parameter from its known distribution."""

import numpy as np

from mongepatch.targets.truth import Marginal

BINS, REACH, SMOOTHING = 40, 3.5, 0.5
"""The paper does not state its bins. These are 40 equal ones within 3.5 standard deviations of the mean; half a draw
is added to each, so that an empty bin does not make the divergence infinite."""


def kl_divergence(draws: np.ndarray, truth: Marginal) -> float:
    """Σ P(Aₖ) log(P(Aₖ)/Q(Aₖ)) over bins Aₖ: P of the truth, Q the fraction of draws, both within the bins."""
    edges = truth.mean + truth.sd * np.linspace(-REACH, REACH, BINS + 1)
    expected = np.diff(truth.cdf(edges))
    counts = np.histogram(draws, edges)[0] + SMOOTHING
    p, q = expected / expected.sum(), counts / counts.sum()
    return float(p @ np.log(p / q))


def ks_distance(draws: np.ndarray, truth: Marginal) -> float:
    """The Kolmogorov–Smirnov distance: the largest difference of the distribution functions."""
    below = truth.cdf(np.sort(draws.ravel()))
    steps = np.arange(below.size + 1) / below.size
    return float(max((below - steps[:-1]).max(), (steps[1:] - below).max()))
