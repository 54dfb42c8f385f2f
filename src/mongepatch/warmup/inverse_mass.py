"""The inverse mass M⁻¹ of a metric, from draws and the gradients at them.

Where ℓ is normal with covariance Σ, x − μ = −Σ g at every draw, wherever the chains are: from the spread of draws *and*
of gradients Σ follows long before the chains have spread over all of it. So M⁻¹ is the S with S cov(g) S = cov(x), the
geometric mean of cov(x) and cov(g)⁻¹. It is positive definite by construction.

A patch has another base. Its residuals stiffen whatever is stiff, and M is for the directions and places in which they
say little: 1/variance there. Gradients would take the steepest corner for the scale of everything.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch.chains import Record
from mongepatch.metrics.inverse_mass import Diagonal, Structure
from mongepatch.metrics.low_rank import LowRank

MAX_DENSE_DIMENSION = 128
"""Dimension up to which M may be dense."""
MAX_RANK = 32
"""How many directions M may have beyond that."""
MIN_ROWS = 10
"""Draws below which nothing is learnt."""
_MAX_ROWS_DENSE, _MAX_ROWS_LOW_RANK = 4000, 256
"""Draws that are looked at, where M may be dense and where it may not: more would cost time and say nothing new."""
_PRIOR_ROWS = 0.1
"""How many draws the guess M⁻¹ = S² counts for, against directions of which the draws say little."""
_PRIOR_ROWS_OF_VARIANCES = 5
"""How many draws the variances so far count for."""
_OUTLIER_LENGTH = 3.0
"""Gradients of more than so many median lengths count less: one visit to a steep corner must not decide on M."""
_NEARLY_ALL, _SMALL_MISFIT = 0.95, 1.5
"""The fraction of draws at which a density may be called nearly normal, and the misfit up to which it is. A direction
with five times the curvature that M says has more at its stiffest tenth of draws; models that need shorter steps there
have 19 and more, regressions 0.5 to 0.9."""
_LARGEST_MISFIT = 1e100
"""Misfits are cut here, so that sums of them are finite."""
_MAX_SCALE_CHANGE = 1e10
"""Largest ratio of a scale to its value before."""


def initial_inverse_mass(dimension: int, structure: Structure, *, from_variances: bool) -> Diagonal | LowRank:
    """M = I, in the form that estimates of this structure take: see `with_estimated_mass`."""
    if from_variances and structure in ("auto", "diagonal"):
        return Diagonal(on_device(np.ones(dimension), jnp.result_type(float)))
    return LowRank.identity(dimension, _capacity(dimension, structure))


def with_estimated_mass(metric: Any, record: Record, structure: Structure) -> Any:
    """The metric with M⁻¹ from a window's draws, and with their center where it has one.

    M⁻¹ is their variances where it is kept as a diagonal, else from draws and gradients.
    """
    assert record.internal is not None  # windows of warm-up have both
    assert record.gradient is not None
    if isinstance(metric.inverse_mass, Diagonal):
        rows = record.internal.reshape(-1, record.internal.shape[-1])
        return replace(metric, inverse_mass=variances(rows, metric.inverse_mass))
    found = estimate(record.internal, record.gradient, metric.inverse_mass, structure)
    if found.center is None or getattr(metric, "center", None) is None:
        return replace(metric, inverse_mass=found.inverse_mass)
    with np.errstate(over="ignore"):
        center = found.center.astype(metric.center.dtype)
    if not np.isfinite(center).all():
        return replace(metric, inverse_mass=found.inverse_mass)
    return replace(metric, inverse_mass=found.inverse_mass, center=on_device(center))


def variances(rows: np.ndarray, before: Diagonal) -> Diagonal:
    """M⁻¹ as the variances of draws [number, dimension]; as before, where they say nothing."""
    usable = rows[np.isfinite(rows).all(axis=1)].astype(np.float64)
    if len(usable) < 2:
        return before
    old, count = np.asarray(before.variance, np.float64), len(usable)
    found = (count * usable.var(axis=0) + _PRIOR_ROWS_OF_VARIANCES * old) / (count + _PRIOR_ROWS_OF_VARIANCES)
    return Diagonal(on_device(np.where(np.isfinite(found) & (found > 0), found, old), before.variance.dtype))


def _capacity(dimension: int, structure: Structure) -> int:
    """How many directions an M of this structure may have."""
    most = {"diagonal": 0, "low-rank": MAX_RANK, "dense": dimension}
    return min(dimension, most.get(structure, dimension if dimension <= MAX_DENSE_DIMENSION else MAX_RANK))


class MassEstimate(NamedTuple):
    """An estimate of M⁻¹ and of where the density is highest."""

    scale: np.ndarray
    directions: np.ndarray
    eigenvalues: np.ndarray
    center: np.ndarray

    def limited(self, rank: int) -> "MassEstimate":
        """With the most important directions only: those whose λ is farthest from 1."""
        order = np.argsort(-np.abs(np.log(self.eigenvalues)), kind="stable")[:rank]
        return self._replace(directions=self.directions[:, order], eigenvalues=self.eigenvalues[order])

    def misfit(self, draws: np.ndarray, gradients: np.ndarray) -> float:
        """Fisher divergence of N(center, M⁻¹) from these draws: the mean of `misfits`, outliers cut."""
        lengths = self.misfits(draws, gradients)
        return float(np.minimum(lengths, _OUTLIER_LENGTH**2 * np.median(lengths)).mean())

    def misfits(self, draws: np.ndarray, gradients: np.ndarray) -> np.ndarray:
        """How far the density is from N(center, M⁻¹) at each draw: |Cᵀg + C⁻¹(x − center)|²."""
        with np.errstate(over="ignore", invalid="ignore"):  # a misfit beyond all numbers is infinite
            slope = self._apply_power(gradients * self.scale, 0.5)
            offset = self._apply_power((draws - self.center) / self.scale, -0.5)
            lengths: np.ndarray = ((slope + offset) ** 2).sum(axis=1)
        return np.minimum(np.nan_to_num(lengths, nan=np.inf, posinf=np.inf), _LARGEST_MISFIT)

    def _apply_power(self, rows: np.ndarray, power: float) -> np.ndarray:
        along = (rows @ self.directions) * (self.eigenvalues**power - 1.0)
        scaled: np.ndarray = rows + along @ self.directions.T
        return scaled


class MassAndCenter(NamedTuple):
    """M⁻¹, and where the density is highest; None where draws say nothing of it."""

    inverse_mass: LowRank
    center: np.ndarray | None = None


def estimate(draws: np.ndarray, gradients: np.ndarray, before: LowRank, structure: Structure) -> MassAndCenter:
    """M⁻¹ and the center from draws and gradients [chain, draw, dimension], pooled over chains.

    Where they say nothing, M⁻¹ is as before. With "auto", diagonal, low-rank and dense estimates from the first half of
    the draws are measured on the second.
    """
    dimension, most = before.directions.shape
    most_rows = _MAX_ROWS_DENSE if most in (0, dimension) else _MAX_ROWS_LOW_RANK
    rows, slopes = _thinned(draws, most_rows), _thinned(gradients, most_rows)
    usable = np.isfinite(rows).all(axis=1) & np.isfinite(slopes).all(axis=1)
    rows, slopes = rows[usable], slopes[usable]
    if len(rows) < MIN_ROWS or not (np.ptp(rows, axis=0) > 0).all():
        return MassAndCenter(before)
    scale_before = np.asarray(before.scale, np.float64)
    rank = most if structure != "auto" else _best_rank(rows, slopes, most, scale_before)
    found = fit(rows, slopes, scale_before, rank)
    if not all(np.isfinite(part).all() for part in found) or not (found.eigenvalues > 0).all():
        return MassAndCenter(before)
    directions, eigenvalues = np.zeros((dimension, most)), np.ones(most)
    directions[:, : found.eigenvalues.size], eigenvalues[: found.eigenvalues.size] = found.directions, found.eigenvalues
    with np.errstate(over="ignore"):  # what is too large for this precision is not used
        parts = [part.astype(before.scale.dtype) for part in (found.scale, directions, eigenvalues)]
    if not all(np.isfinite(part).all() for part in parts):
        return MassAndCenter(before)
    return MassAndCenter(LowRank(*jax.device_put(parts)), found.center)


def is_nearly_normal(metric: Any, rows: np.ndarray, slopes: np.ndarray) -> bool:
    """Whether a density is like N(center, M⁻¹) of a metric at nearly all draws; False where that is not known.

    Args:
        metric: Euclidean, with a center, or any other.
        rows: draws, [number, dimension].
        slopes: gradients there.
    """
    base, center = getattr(metric, "inverse_mass", None), getattr(metric, "center", None)
    if center is None or not isinstance(base, LowRank) or not len(rows):
        return False
    parts = (base.scale, base.directions, base.eigenvalues, center)
    found = MassEstimate(*(np.asarray(part, np.float64) for part in parts))
    return bool(np.quantile(found.misfits(rows, slopes), _NEARLY_ALL) < _SMALL_MISFIT)


def fit(rows: np.ndarray, slopes: np.ndarray, before: np.ndarray, rank: int) -> MassEstimate:
    """The geometric mean of cov(x) and cov(g)⁻¹, in the scale of its diagonal; as before where g is constant."""
    weights = _weights(slopes)
    x_mean, x, g_mean, g = *_centred(rows, weights), *_centred(slopes, weights)
    x_spread, g_spread = (x**2).sum(axis=0), (g**2).sum(axis=0)
    rounding = len(rows) * np.finfo(float).eps ** 1.5  # what is left of a sum of squares where nothing varies
    varies = (x_spread > rounding * (rows**2).sum(axis=0)) & (g_spread > rounding * (slopes**2).sum(axis=0))
    scale = np.where(varies, (x_spread / np.where(varies, g_spread, 1.0)) ** 0.25, before)
    scale = np.clip(scale, before / _MAX_SCALE_CHANGE, before * _MAX_SCALE_CHANGE)
    if rank == 0 or not varies.any():
        return MassEstimate(scale, np.zeros((len(scale), 0)), np.ones(0), x_mean + scale**2 * g_mean)
    x, g = (np.where(varies, part, 0.0) for part in (x / scale, g * scale))  # a constant gradient is not a flat one
    basis = _span(x, g)
    spread, steepness = _covariance(x @ basis), _covariance(g @ basis)
    root, inverse_root = _roots(steepness)
    middle, _ = _roots(root @ spread @ root)
    eigenvalues, vectors = np.linalg.eigh(inverse_root @ middle @ inverse_root)
    found = MassEstimate(scale, basis @ vectors, eigenvalues, x_mean)
    step = found._apply_power((g_mean * scale)[None], 1.0)[0] * scale  # M⁻¹ ḡ: a Newton step from the mean of the draws
    return found._replace(center=x_mean + step).limited(rank)


def _best_rank(rows: np.ndarray, slopes: np.ndarray, most: int, before: np.ndarray) -> int:
    """How many directions pay on draws that they were not made from."""
    middle = len(rows) // 2
    found = fit(rows[:middle], slopes[:middle], before, most)
    ranks = sorted({0, min(4, most), min(16, most), most})
    misfits = [found.limited(rank).misfit(rows[middle:], slopes[middle:]) for rank in ranks]
    return ranks[int(np.argmin(misfits))]


def worst_misfit(rows: np.ndarray, slopes: np.ndarray) -> float:
    """How far a density is from normal where it is farthest, whatever M is: steps must suit these places too.

    It is the 90% quantile of the misfits of the second half of some draws, for the best M of the first.

    Args:
        rows: draws, [number, dimension].
        slopes: gradients there.
    """
    dimension, middle = rows.shape[1], len(rows) // 2
    unit = np.ones(dimension)
    rank = _best_rank(rows, slopes, _capacity(dimension, "auto"), unit)
    found = fit(rows[:middle], slopes[:middle], unit, rank)
    return float(np.quantile(found.misfits(rows[middle:], slopes[middle:]), 0.9))


def _thinned(values: np.ndarray, most: int) -> np.ndarray:
    """Rows in the order of time, all chains of a draw together, about as many as are needed."""
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
    most = _OUTLIER_LENGTH * usual
    weights: np.ndarray = (most / np.maximum(lengths, most)) ** 2
    return weights


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
    own = _PRIOR_ROWS * (rows**2).mean() * np.eye(rows.shape[1])
    return (rows.T @ rows + own) / (len(rows) + _PRIOR_ROWS)


def _roots(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The root of a positive definite matrix, and the inverse of the root."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(eigenvalues, np.finfo(float).tiny))
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
