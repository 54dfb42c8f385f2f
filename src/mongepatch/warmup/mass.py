"""The base metric, from draws and the gradients at them.

Where ℓ is normal with covariance Σ, x − μ = −Σ g at every draw, wherever the chains are: from the spread of draws *and*
of gradients Σ follows long before the chains have spread over all of it. So M⁻¹ is the S with S cov(g) S = cov(x), the
geometric mean of cov(x) and cov(g)⁻¹. It is positive definite by construction.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mongepatch.metrics.inverse_mass import Structure
from mongepatch.metrics.low_rank import LowRank

DENSE = 128
"""Dimension up to which M may be dense."""
RANK = 32
"""How many directions M may have beyond that."""
FEWEST = 10
"""Draws below which nothing is learnt."""
_MOST_ROWS, _FEW_ROWS = 4000, 256
"""Draws that are looked at, where M may be dense and where it may not: more would cost time and say nothing new."""
_PRIOR_DRAWS = 0.1
"""How many draws the guess M⁻¹ = S² is worth, against directions of which the draws say little."""
_OUTLIER = 3.0
"""Gradients of more than so many median lengths count less: one visit to a steep corner must not decide on M."""
_LIMIT = 1e10
"""Largest ratio of a scale to its value before."""


def capacity(dimension: int, structure: Structure) -> int:
    """How many directions an M of this structure may have."""
    most = {"diagonal": 0, "low-rank": RANK, "dense": dimension}
    return min(dimension, most.get(structure, dimension if dimension <= DENSE else RANK))


class Fit(NamedTuple):
    """An estimate of M⁻¹ and of where the density is highest."""

    scale: np.ndarray
    directions: np.ndarray
    eigenvalues: np.ndarray
    center: np.ndarray

    def limited(self, rank: int) -> "Fit":
        """With the most important directions only: those whose λ is farthest from 1."""
        order = np.argsort(-np.abs(np.log(self.eigenvalues)), kind="stable")[:rank]
        return self._replace(directions=self.directions[:, order], eigenvalues=self.eigenvalues[order])

    def misfit(self, draws: np.ndarray, gradients: np.ndarray) -> float:
        """Fisher divergence of N(center, M⁻¹) from these draws: mean |Cᵀg + C⁻¹(x − center)|², outliers cut."""
        slope = self._turn(gradients * self.scale, 0.5)
        offset = self._turn((draws - self.center) / self.scale, -0.5)
        lengths = ((slope + offset) ** 2).sum(axis=1)
        return float(np.minimum(lengths, _OUTLIER**2 * np.median(lengths)).mean())

    def _turn(self, rows: np.ndarray, power: float) -> np.ndarray:
        along = (rows @ self.directions) * (self.eigenvalues**power - 1.0)
        turned: np.ndarray = rows + along @ self.directions.T
        return turned


def estimate(draws: np.ndarray, gradients: np.ndarray, before: LowRank, structure: Structure) -> LowRank:
    """M⁻¹ from draws and gradients [chain, draw, dimension], pooled over chains; as before, where they say nothing.

    With "auto", diagonal, low-rank and dense estimates from the first half of the draws are measured on the second.
    """
    dimension, most = before.directions.shape
    most_rows = _MOST_ROWS if most in (0, dimension) else _FEW_ROWS
    rows, slopes = _thinned(draws, most_rows), _thinned(gradients, most_rows)
    usable = np.isfinite(rows).all(axis=1) & np.isfinite(slopes).all(axis=1)
    rows, slopes = rows[usable], slopes[usable]
    if len(rows) < FEWEST or not (np.ptp(rows, axis=0) > 0).all():
        return before
    scale_before = np.asarray(before.scale, np.float64)
    rank = most if structure != "auto" else _best_rank(rows, slopes, most, scale_before)
    found = fit(rows, slopes, scale_before, rank)
    if not all(np.isfinite(part).all() for part in found) or not (found.eigenvalues > 0).all():
        return before
    directions, eigenvalues = np.zeros((dimension, most)), np.ones(most)
    directions[:, : found.eigenvalues.size], eigenvalues[: found.eigenvalues.size] = found.directions, found.eigenvalues
    dtype = before.scale.dtype
    return LowRank(jnp.asarray(found.scale, dtype), jnp.asarray(directions, dtype), jnp.asarray(eigenvalues, dtype))


def fit(rows: np.ndarray, slopes: np.ndarray, before: np.ndarray, rank: int) -> Fit:
    """The geometric mean of cov(x) and cov(g)⁻¹, in the scale of its diagonal; as before where g is constant."""
    weights = _weights(slopes)
    x_mean, x, g_mean, g = *_centred(rows, weights), *_centred(slopes, weights)
    x_spread, g_spread = (x**2).sum(axis=0), (g**2).sum(axis=0)
    rounding = len(rows) * np.finfo(float).eps ** 1.5  # what is left of a sum of squares where nothing varies
    varies = (x_spread > rounding * (rows**2).sum(axis=0)) & (g_spread > rounding * (slopes**2).sum(axis=0))
    scale = np.where(varies, (x_spread / np.where(varies, g_spread, 1.0)) ** 0.25, before)
    scale = np.clip(scale, before / _LIMIT, before * _LIMIT)
    if rank == 0:
        return Fit(scale, np.zeros((len(scale), 0)), np.ones(0), x_mean + scale**2 * g_mean)
    x, g = x / scale, g * scale
    basis = _span(x, g)
    spread, steepness = _covariance(x @ basis), _covariance(g @ basis)
    root, inverse_root = _roots(steepness)
    middle, _ = _roots(root @ spread @ root)
    eigenvalues, vectors = np.linalg.eigh(inverse_root @ middle @ inverse_root)
    found = Fit(scale, basis @ vectors, eigenvalues, x_mean)
    step = found._turn((g_mean * scale)[None], 1.0)[0] * scale  # M⁻¹ ḡ: a Newton step from the mean of the draws
    return found._replace(center=x_mean + step).limited(rank)


def _best_rank(rows: np.ndarray, slopes: np.ndarray, most: int, before: np.ndarray) -> int:
    """How many directions pay on draws that they were not made from."""
    middle = len(rows) // 2
    found = fit(rows[:middle], slopes[:middle], before, most)
    ranks = sorted({0, min(4, most), min(16, most), most})
    misfits = [found.limited(rank).misfit(rows[middle:], slopes[middle:]) for rank in ranks]
    return ranks[int(np.argmin(misfits))]


def _thinned(values: np.ndarray, most: int) -> np.ndarray:
    """Rows in the order of time, all chains of a draw together, about as many as are worth looking at."""
    chains, draws, dimension = values.shape
    thinner = values[:: max(1, chains // most), :: max(1, -(-chains * draws // most))]
    return np.asarray(thinner.swapaxes(0, 1).reshape(-1, dimension), np.float64)


def _weights(slopes: np.ndarray) -> np.ndarray:
    """Weights that take power from gradients far longer than most.

    They are for draws and gradients alike, so that x = −Σg stays true.
    """
    centred = slopes - np.median(slopes, axis=0)
    spread = np.median(np.abs(centred), axis=0)
    lengths = np.sqrt(((centred / np.where(spread > 0, spread, 1.0)) ** 2).mean(axis=1))
    usual = np.median(lengths)
    if usual == 0:  # most draws are the same one
        return np.ones(len(slopes))
    return np.minimum(1.0, _OUTLIER * usual / np.maximum(lengths, np.finfo(float).tiny)) ** 2


def _centred(rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weighted mean, and rows around it times the root of their weights."""
    mean = np.average(rows, axis=0, weights=weights)
    return mean, (rows - mean) * np.sqrt(weights)[:, None]


def _span(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span all draws and gradients; elsewhere M⁻¹ is diagonal."""
    dimension = x.shape[1]
    if dimension <= 2 * len(x):
        return np.eye(dimension)
    basis, _ = np.linalg.qr(np.concatenate([x, g]).T)
    return basis


def _covariance(rows: np.ndarray) -> np.ndarray:
    """Scatter of the rows, to which the identity, in their own scale, adds a few draws."""
    own = _PRIOR_DRAWS * (rows**2).mean() * np.eye(rows.shape[1])
    return (rows.T @ rows + own) / (len(rows) + _PRIOR_DRAWS)


def _roots(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The root of a positive definite matrix, and the inverse of the root."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(eigenvalues, np.finfo(float).tiny))
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
