"""Curvature of the density at draws, in the scale of M: how large it is, how it varies, and whether steps are stable.

A leapfrog step is unstable where ε√λ > 2, with λ the largest curvature in the scale of M; where x and v turn between
kicks, the limit is a little higher. Trajectories that enter such a place are mostly rejected, so that chains rarely
visit it: the draws look fine, and what lies beyond is missing. The few draws in it tell.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._linalg import dot
from mongepatch._typing import Directions, LogDensity, PerDirection, PerPosition, Positions, Scalar, Spectra, Vector
from mongepatch.kernels import LMC
from mongepatch.metrics import Euclidean
from mongepatch.metrics.inverse_mass import InverseMass
from mongepatch.program import jit
from mongepatch.trajectories import Static, in_use
from mongepatch.warmup.state import WarmupState

MAX_UNSTABLE_FRACTION = 0.01
"""Fraction of draws with unstable steps that is tolerated: where a step suits the whole density there are few."""
_MAX_POINTS = 256
"""How many draws are looked at, at most."""
_STIFF_FRACTION = 0.1
"""Fraction of them that counts as stiff."""
_NUM_DIRECTIONS, _NUM_ITERATIONS = 3, 20
"""Size and length of the orthogonal iteration."""
_MAX_GRADIENT_RATIO = 10.0
"""Largest squared gradient, relative to the curvature, that counts in full."""
_LONG_GRADIENT = 2.0
"""How much larger than any of a normal density a squared gradient must be for the curvature there to be looked at."""
_MAX_LONG_GRADIENTS = 64
"""At how many such draws it is looked at."""
_BATCH = 64
"""Draws that are looked at by one call: for any number of draws, one program is compiled."""


class Curvature(NamedTuple):
    """Curvature where it is largest, in the scale of M, in which most of a normal density's curvature is 1."""

    largest: float
    """Typical largest curvature of the stiffest draws."""
    second: float
    """The next largest there, relative to it."""
    variation: float
    """Ratio of the largest curvature at the stiffest draws to that at as many of the least stiff."""
    squared_gradient: float
    """Squared length of the gradient relative to the largest curvature: about 1 across a normal density."""


def curvature_of(positions: np.ndarray, density: LogDensity, base: InverseMass, most: int = _MAX_POINTS) -> Curvature:
    """The curvature at some of these positions [number, dimension], at most so many."""
    curvatures, slopes = _spectra_at(_thinned(positions, most), density, base)
    usable = np.isfinite(curvatures).all(axis=1) & np.isfinite(slopes) & (curvatures[:, 0] > 0)
    if not usable.any():
        return Curvature(0.0, 0.0, 1.0, 1.0)
    curvatures, slopes = curvatures[usable], slopes[usable]
    order = np.argsort(-curvatures[:, 0])
    count = max(1, round(_STIFF_FRACTION * len(order)))
    stiff, soft = order[:count], order[-count:]
    top = curvatures[stiff, 0]
    return Curvature(
        float(np.median(top)),
        float(np.median(curvatures[stiff, 1] / top)) if curvatures.shape[1] > 1 else 0.0,
        float(np.median(top) / np.median(curvatures[soft, 0])),
        float(np.mean(np.minimum(slopes[stiff] / top, _MAX_GRADIENT_RATIO))),
    )


def twice_differentiable(density: LogDensity, position: np.ndarray) -> bool:
    """Whether JAX can differentiate the density twice; callbacks and some custom derivatives allow it but once."""
    try:
        jax.eval_shape(_second_derivative, density, jnp.asarray(position))
    except Exception:
        return False
    return True


@jax.jit  # never compiled: JAX remembers the shapes, so that another call with this density differentiates nothing
def _second_derivative(density: LogDensity, position: Vector) -> Vector:
    """The Hessian times the position."""
    return jax.jvp(jax.grad(density), (position,), (position,))[1]


def unstable_fraction(positions: np.ndarray, density: LogDensity, metric: Euclidean, step_size: float) -> float:
    """The fraction of these draws [number, dimension] at which steps of this size in a constant metric are unstable."""
    if not twice_differentiable(density, positions[0]):
        return 0.0
    largest = _spectra_at(_thinned(positions), density, metric.inverse_mass)[0][:, 0]
    return float(np.mean(largest > metric.stable_curvature(step_size)))


def recent_unstable_fraction(state: WarmupState) -> float:
    """The same for the metric and the recent draws of warm-up; 0 where the metric is not constant, or steps differ.

    Curvatures cost many products with Hessians. So they are looked at only where the gradient is long, as it is where
    many directions are stiff; one stiff direction among hundreds may go unseen.
    """
    metric: Any = state.tuning.metric
    if not isinstance(metric, Euclidean) or not isinstance(state.runner.kernel, LMC):
        return 0.0
    long = _has_long_gradient(state.recent_gradients(), metric.inverse_mass)
    if not long.mean() > MAX_UNSTABLE_FRACTION:
        return 0.0
    rows = state.recent_positions()[long]
    some = rows[:: -(-len(rows) // _MAX_LONG_GRADIENTS)]
    trajectory = in_use(state.tuning.trajectory)
    longer = float(trajectory.step_size_jitter) if isinstance(trajectory, Static) else 0.0
    fraction = unstable_fraction(some, state.runner.density, metric, state.step_size * (1.0 + longer))
    return float(long.mean() * fraction)


def _has_long_gradient(gradients: np.ndarray, base: InverseMass) -> np.ndarray:
    """Which gradients are longer than those of a normal density, whose squares in the scale of M are χ² of D.

    M need not be of the density's scale: the median is made that of χ².
    """
    dimension = gradients.shape[1]
    filled = np.resize(gradients, (1 << (len(gradients) - 1).bit_length(), dimension))  # few sizes, few programs
    squares = np.asarray(_squares(on_device(filled), base))[: len(gradients)]
    usual, largest = dimension * (1.0 - 2.0 / (9.0 * dimension)) ** 3, dimension + 4.0 * np.sqrt(2.0 * dimension)
    long: np.ndarray = squares > _LONG_GRADIENT * largest / usual * np.median(squares)
    return long


@partial(jit, quick=True)
def _squares(gradients: Positions, base: InverseMass) -> PerPosition:
    """gᵀM⁻¹g."""
    return jax.vmap(lambda gradient: dot(gradient, base.apply(gradient)))(gradients)


def _thinned(positions: np.ndarray, most: int = _MAX_POINTS) -> np.ndarray:
    some: np.ndarray = positions[np.linspace(0, len(positions) - 1, min(most, len(positions))).astype(int)]
    return some


def _spectra_at(positions: np.ndarray, density: LogDensity, base: InverseMass) -> tuple[np.ndarray, np.ndarray]:
    """The largest curvatures at positions [number, dimension], and squared gradients."""
    made = []
    for first in range(0, len(positions), _BATCH):
        batch = positions[first : first + _BATCH]
        found = _spectra(on_device(np.resize(batch, (_BATCH, batch.shape[1]))), density, base)
        made.append([np.asarray(values)[: len(batch)] for values in found])
    curvatures, slopes = (np.concatenate(values) for values in zip(*made, strict=True))
    return curvatures, slopes


@partial(jit, quick=True)
def _spectra(positions: Positions, density: LogDensity, base: InverseMass) -> tuple[Spectra, PerPosition]:
    return jax.lax.map(partial(_spectrum, density=density, base=base), positions)


def _spectrum(position: Vector, density: LogDensity, base: InverseMass) -> tuple[PerDirection, Scalar]:
    """The largest eigenvalues of CᵀHC in size, by orthogonal iteration; and |Cᵀg|²."""
    gradient, hessian_times = jax.linearize(jax.grad(density), position)

    def times(vectors: Directions) -> Directions:
        return jax.vmap(lambda y: base.root_transposed(hessian_times(base.root(y))), 1, 1)(vectors)

    def refine(_: int, vectors: Directions) -> Directions:
        return jnp.linalg.qr(times(vectors))[0]

    shape = (position.size, min(_NUM_DIRECTIONS, position.size))
    begin = jnp.linalg.qr(jax.random.normal(jax.random.key(0), shape, position.dtype))[0]
    vectors = jax.lax.fori_loop(0, _NUM_ITERATIONS, refine, begin)
    sizes = jnp.linalg.norm(times(vectors), axis=0)
    slope = base.root_transposed(gradient)
    return -jnp.sort(-sizes), dot(slope, slope)
