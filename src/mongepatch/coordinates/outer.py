"""Outer coordinates made normal one by one: ψ = m + s·sinh((asinh u + e)/d), sinh–arcsinh maps fitted to draws.

What is left of a hierarchy in whitened coordinates is the posterior of its scales, which is often skewed: a log scale
has an exponential tail where data cannot tell it from −∞. NUTS likes u, which is about normal, better. References:
Jones and Pewsey (2009), Sinh-arcsinh distributions, Biometrika 96, 761–780.
"""

from functools import partial
from typing import Any, NamedTuple

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
        # Written out, since this is a good part of the work of a small model: asinh, sinh and cosh of `jax.numpy` would
        # take twice as long. No angle is so large that the exponential overflows.
        root, side = jnp.sqrt(1.0 + u * u), jnp.where(u < 0, -1.0, 1.0)
        arc = side * jnp.log(side * u + root)  # asinh u
        grown = jnp.exp((arc + self.skew) / self.tail)
        sinh, cosh = 0.5 * (grown - 1.0 / grown), 0.5 * (grown + 1.0 / grown)
        return self.center + self.scale * sinh, jnp.log(self.scale * cosh / (self.tail * root)).sum()

    def inverse(self, psi: AnyVector) -> AnyVector:
        """The u of a ψ."""
        return jnp.sinh(self.tail * jnp.arcsinh((psi - self.center) / self.scale) - self.skew)


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
