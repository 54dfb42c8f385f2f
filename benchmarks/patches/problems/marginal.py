"""The exact posterior of a scale between groups, where all else is normal and can be integrated out."""

from collections.abc import Callable

import numpy as np

from mongepatch.targets.truth import Tabulated

GRID = np.linspace(-20.0, 8.0, 28_001)
"""Of log τ."""


def log_scale_posterior(
    means: np.ndarray, errors: np.ndarray, mu_sd: float, log_prior: Callable[[np.ndarray], np.ndarray]
) -> Tabulated:
    """Of log τ, where means ~ N(θ, errors²), θ ~ N(μ, τ²), μ ~ N(0, mu_sd²) and τ has a prior.

    A mean is N(μ, v) with v = τ² + error². Integrated over μ, with A = 1/mu_sd² + Σ 1/v and b = Σ mean/v, the
    logarithm of the likelihood is −½ (Σ log v + Σ mean²/v + log A − b²/A).
    """
    tau = np.exp(GRID)
    v = tau[:, None] ** 2 + errors**2
    A, b = mu_sd**-2 + (1.0 / v).sum(axis=1), (means / v).sum(axis=1)
    likelihood = -0.5 * (np.log(v).sum(axis=1) + (means**2 / v).sum(axis=1) + np.log(A) - b**2 / A)
    return Tabulated.from_log_density(GRID, likelihood + log_prior(tau) + GRID)  # of log τ: times τ
