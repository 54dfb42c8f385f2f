"""Nested R̂: whether many chains agree, however short they are."""

import numpy as np

NUM_SUPERCHAINS = 16
"""Groups of consecutive chains that are compared."""
_AT_ONCE = 2**16
"""Numbers that are looked at together: copies that do not stay in a cache would take most of the time."""


def nested_r_hat(draws: np.ndarray) -> np.ndarray:
    """Nested R̂ of every quantity of draws [chain, draw, ...], from at least 16 chains and 2 draws.

    R̂ = √(1 + B/W). Chains are divided into groups of consecutive ones, the superchains. B is the variance of the
    superchains' means. W is the mean over superchains of the variance within one: that of its chains' means plus the
    mean variance of a chain. It is NaN for a quantity that never changes. See Margossian, Hoffman, Sountsov,
    Riou-Durand, Vehtari and Gelman, "Nested R̂: Assessing the convergence of Markov chain Monte Carlo when running many
    short chains", Bayesian Analysis, 2024.

    Only the mean and the variance of each chain are needed. R̂ of single chains is large wherever chains are short; the
    mean of a superchain has as many effective draws as all of its chains together.
    """
    moments = [_moments(part) for part in np.array_split(draws, max(1, draws.size // _AT_ONCE))]
    means, variances = (np.concatenate(parts) for parts in zip(*moments, strict=True))
    ends = np.linspace(0, len(means), NUM_SUPERCHAINS + 1).round().astype(int)
    first = ends[:-1]
    sizes = np.diff(ends).reshape(-1, *[1] * (means.ndim - 1))
    centers = np.add.reduceat(means, first) / sizes
    deviations = means - np.repeat(centers, sizes.ravel(), axis=0)
    between_chains = np.add.reduceat(deviations**2, first) / np.maximum(sizes - 1, 1)
    within = (between_chains + np.add.reduceat(variances, first) / sizes).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(1.0 + centers.var(axis=0, ddof=1) / within))


def _moments(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every chain, in double precision."""
    values = draws.astype(np.float64)
    means = values.mean(axis=1)
    values -= means[:, None]
    return means, np.square(values, out=values).sum(axis=1) / (draws.shape[1] - 1)
