"""What is known of a target without sampling it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax.scipy.special as special
import numpy as np

from mongepatch._typing import Positions, PRNGKey


class Marginal(Protocol):
    """A known distribution of one scalar parameter."""

    @property
    def mean(self) -> float:
        """Its mean."""

    @property
    def sd(self) -> float:
        """Its standard deviation."""

    def cdf(self, value: Any) -> np.ndarray:
        """Probability of at most `value`."""

    def quantile(self, probability: Any) -> np.ndarray:
        """The value that the parameter stays below with this probability."""


@dataclass(frozen=True)
class Normal:
    """N(mean, sd²)."""

    mean: float
    sd: float

    def cdf(self, value: Any) -> np.ndarray:
        """Φ((value − mean)/sd)."""
        return np.asarray(special.ndtr((np.asarray(value) - self.mean) / self.sd))

    def quantile(self, probability: Any) -> np.ndarray:
        """Mean + sd Φ⁻¹(probability)."""
        return self.mean + self.sd * np.asarray(special.ndtri(np.asarray(probability, float)))


@dataclass(frozen=True)
class Tabulated:
    """A distribution known by its density on a fine, even grid that holds all of its mass."""

    grid: np.ndarray
    weights: np.ndarray

    @classmethod
    def from_log_density(cls, grid: np.ndarray, log_density: np.ndarray) -> "Tabulated":
        """Normalise a log density on the grid."""
        weights = np.exp(log_density - log_density.max())
        return cls(grid, weights / weights.sum())

    @property
    def mean(self) -> float:
        """Its mean."""
        return float(self.weights @ self.grid)

    @property
    def sd(self) -> float:
        """Its standard deviation."""
        return float(np.sqrt(self.weights @ (self.grid - self.mean) ** 2))

    @property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the grid's cells, and the probability below each."""
        half = 0.5 * (self.grid[1] - self.grid[0])
        edges = np.append(self.grid - half, self.grid[-1] + half)
        return edges, np.concatenate([[0.0], np.cumsum(self.weights)])

    def cdf(self, value: Any) -> np.ndarray:
        """Probability of at most `value`."""
        return np.interp(value, *self._edges)

    def quantile(self, probability: Any) -> np.ndarray:
        """The inverse of `cdf`."""
        edges, below = self._edges
        return np.interp(probability, below, edges)


@dataclass(frozen=True)
class Truth:
    """Exact draws of the whole target, and the marginals that have a closed form or a quadrature."""

    draw: Callable[[PRNGKey, int], Positions]
    """`draw(key, n)`: n independent exact draws, flat, of shape (n, D)."""
    marginals: Mapping[str, Marginal] = field(default_factory=dict)
    """By the name of a scalar parameter."""
