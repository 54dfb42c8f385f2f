"""Outer coordinates made normal one by one: ψ = m + s·sinh((asinh u + e)/d), sinh–arcsinh maps fitted to draws.

What is left of a hierarchy in whitened coordinates is the posterior of its scales, which is often skewed: a log scale
has an exponential tail where data cannot tell it from −∞. NUTS likes u, which is about normal, better. References:
Jones and Pewsey (2009), Sinh-arcsinh distributions, Biometrika 96, 761–780.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from mongepatch._arrays import on_device
from mongepatch._typing import AnyVector, Scalar

_PENALTY = 4.0
"""How many draws speak against skewness and tails: −½·penalty·(e² + log² d)."""
_MOST_SHIFT, _MOST_RESCALING, _MOST_SKEW, _MOST_TAIL = 5.0, 4.0, 2.0, 1.5
"""Largest changes of a fit: of location, in standard deviations, and of log scale; largest |e| and |log d|."""


class OuterMap(NamedTuple):
    """Tuning parameters of the maps, one of each for every outer coordinate. A pytree."""

    center: AnyVector
    scale: AnyVector
    skew: AnyVector
    """e: 0 for none."""
    tail: AnyVector
    """d: 1 for the tails of a normal density, less for heavier ones."""

    @classmethod
    def identity(cls, size: int, dtype: Any) -> "OuterMap":
        """ψ = u."""
        zeros, ones = on_device(np.zeros(size), dtype), on_device(np.ones(size), dtype)
        return cls(zeros, ones, zeros, ones)

    def forward(self, u: AnyVector) -> tuple[AnyVector, Scalar]:
        """ψ, and Σ log|dψ/du|."""
        psi, log_slope = _forward(self, u)
        return psi, log_slope.sum()

    def forward_each(self, u: AnyVector) -> tuple[AnyVector, AnyVector]:
        """ψ and log|dψ/du|, each by itself."""
        return _forward(self, u)

    @property
    def is_mapped(self) -> jax.Array:
        """Which coordinates have skewness or tails; the maps of others are the identity, or a change of scale."""
        return (self.skew != 0) | (self.tail != 1)

    def inverse(self, psi: AnyVector) -> AnyVector:
        """The u of a ψ."""
        return jnp.sinh(self.tail * jnp.arcsinh((psi - self.center) / self.scale) - self.skew)


@jax.custom_jvp
def _forward(maps: OuterMap, u: AnyVector) -> tuple[AnyVector, AnyVector]:
    """ψ and log|dψ/du|, each by itself."""
    sinh, cosh = _angles(maps, u)
    return maps.center + maps.scale * sinh, jnp.log(maps.scale * cosh * jax.lax.rsqrt(1.0 + u * u) / maps.tail)


def _angles(maps: OuterMap, u: AnyVector) -> tuple[AnyVector, AnyVector]:
    """The hyperbolic sine and cosine of (asinh u + e)/d."""
    # Written out, since this is a good part of the work of a small model: asinh, sinh and cosh of `jax.numpy` would
    # take twice as long. Both exponentials are one loop. No angle is so large that they overflow.
    side = jnp.where(u < 0, -1.0, 1.0)
    angle = (side * jnp.log(side * u + jnp.sqrt(1.0 + u * u)) + maps.skew) / maps.tail
    signs = np.array([1.0, -1.0]).reshape(2, *[1] * u.ndim)
    up, down = 0.5 * jnp.exp(angle * on_device(signs, u.dtype))
    return up - down, up + down


@_forward.defjvp
def _forward_jvp(
    primals: tuple[OuterMap, AnyVector], tangents: tuple[Any, AnyVector]
) -> tuple[tuple[AnyVector, AnyVector], tuple[AnyVector, AnyVector]]:
    """By u alone: maps are constant while chains move."""
    maps, u = primals
    sinh, cosh = _angles(maps, u)
    inverse_root = jax.lax.rsqrt(1.0 + u * u)
    rate = inverse_root / maps.tail
    by_u = sinh / cosh * rate - u * inverse_root**2
    return _forward(maps, u), (maps.scale * cosh * rate * tangents[1], by_u * tangents[1])


def in_maps(maps: OuterMap, draws: np.ndarray, gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The u of draws ψ [number, coordinate], and the gradients of its log density from those of ℓ at ψ."""
    center, scale, skew, tail = _on_host(maps)
    u = np.sinh(tail * np.arcsinh((draws - center) / scale) - skew)
    slope, by_u = _slopes(maps, u)
    return u, gradients * slope + by_u


def out_of_maps(maps: OuterMap, u: np.ndarray, gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse: the ψ of draws u [number, coordinate], and the gradients of ℓ there."""
    center, scale, skew, tail = _on_host(maps)
    slope, by_u = _slopes(maps, u)
    return center + scale * np.sinh((np.arcsinh(u) + skew) / tail), (gradients - by_u) / slope


def log_densities(maps: OuterMap, draws: np.ndarray) -> np.ndarray:
    """The mean log density of draws [number, coordinate] by each map, up to a constant, if its u is standard normal.

    With e = 0 and d = 1 that is a normal density.
    """
    u, _ = in_maps(maps, draws, np.zeros_like(draws))
    slope, _ = _slopes(maps, u)
    found: np.ndarray = (-0.5 * u * u - np.log(slope)).mean(axis=0)
    return found


def _slopes(maps: OuterMap, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """dψ/du, and the derivative of its logarithm."""
    _, scale, skew, tail = _on_host(maps)
    angle, root = (np.arcsinh(u) + skew) / tail, np.sqrt(1 + u * u)
    return scale * np.cosh(angle) / (tail * root), np.tanh(angle) / (tail * root) - u / root**2


def _on_host(maps: OuterMap) -> list[np.ndarray]:
    return [np.asarray(part, np.float64) for part in maps]


def fit(draws: np.ndarray, dtype: Any) -> OuterMap:
    """Maps from draws [number, coordinate] by penalised maximum likelihood: u is standard normal where they fit.

    A coordinate whose draws are all the same keeps its scale.
    """
    center, spread = np.median(draws, axis=0), draws.std(axis=0)
    moves = spread > 0
    scale = np.where(moves, spread, 1.0)
    standard = (draws - center)[:, moves] / scale[moves]
    size = standard.shape[1]
    bounds = [(-most, most) for most in (_MOST_SHIFT, _MOST_RESCALING, _MOST_SKEW, _MOST_TAIL) for _ in range(size)]
    shift, log_scale, skew, log_tail = fitted = np.zeros((4, len(moves)))
    if size:
        # The coordinates do not depend on each other: one search for all of them takes as many steps as the hardest.
        found = scipy.optimize.minimize(
            partial(_loss, standard), np.zeros(4 * size), jac=True, bounds=bounds, method="L-BFGS-B"
        )
        fitted[:, moves] = found.x.reshape(4, size)
    parts = (center + scale * shift, scale * np.exp(log_scale), skew, np.exp(log_tail))
    return OuterMap(*(on_device(part, dtype) for part in parts))


def _loss(values: np.ndarray, parameters: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus the penalised log likelihood of (shift, log scale, e, log d), summed over coordinates; its gradient."""
    shift, log_scale, skew, log_tail = parameters.reshape(4, -1)
    tail, scale = np.exp(log_tail), np.exp(log_scale)
    y = (values - shift) / scale
    arc, root = np.arcsinh(y), np.sqrt(1 + y * y)
    angle = tail * arc - skew
    u, cosh = np.sinh(angle), np.cosh(angle)
    weight = _PENALTY / len(values)
    # log|du/dψ| = log cosh(angle) + log d − ½ log(1 + y²) − log scale
    losses = np.mean(0.5 * u * u - np.log(cosh) + np.log(root), axis=0) - log_tail + log_scale
    loss = losses.sum() + 0.5 * weight * (skew @ skew + log_tail @ log_tail)
    by_angle = u * cosh - u / cosh
    by_y = by_angle * tail / root + y / root**2
    gradient = (
        -by_y.mean(axis=0) / scale,
        1.0 - (by_y * y).mean(axis=0),
        weight * skew - by_angle.mean(axis=0),
        (by_angle * tail * arc).mean(axis=0) - 1.0 + weight * log_tail,
    )
    return float(loss), np.concatenate(gradient)
