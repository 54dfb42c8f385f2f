"""How many directions are stiff where the density is stiffest: what decides whether a metric of rank one can help."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._linalg import dot
from mongepatch._typing import Matrix, Scalar, Vector
from mongepatch.metrics.inverse_mass import InverseMass
from mongepatch.program import Program, jit

POINTS = 256
"""How many draws are looked at, at most."""
STIFFEST = 0.1
"""Share of them that counts as stiff."""
_DIRECTIONS, _ROUNDS = 3, 20
"""Size and length of the orthogonal iteration."""
_OUTLIER = 10.0
"""Largest squared gradient, relative to the curvature, that counts in full."""


class Stiffness(NamedTuple):
    """Curvature where it is largest, in the scale of M, in which most of a normal density's curvature is 1."""

    largest: float
    """Typical largest curvature of the stiffest draws."""
    second: float
    """The next largest there, relative to it."""
    varies: float
    """Ratio of the largest curvature at the stiffest draws to that at as many of the least stiff."""
    steepness: float
    """Squared length of the gradient relative to the largest curvature: about 1 across a normal density."""


def stiffness(positions: np.ndarray, density: Program, base: InverseMass) -> Stiffness:
    """Look at some of these positions [number, dimension]."""
    curvatures, slopes = map(np.asarray, _spectra(jnp.asarray(_some(positions)), density, base))
    usable = np.isfinite(curvatures).all(axis=1) & np.isfinite(slopes) & (curvatures[:, 0] > 0)
    if not usable.any():
        return Stiffness(0.0, 0.0, 1.0, 1.0)
    curvatures, slopes = curvatures[usable], slopes[usable]
    order = np.argsort(-curvatures[:, 0])
    count = max(1, round(STIFFEST * len(order)))
    stiff, soft = order[:count], order[-count:]
    top = curvatures[stiff, 0]
    return Stiffness(
        float(np.median(top)),
        float(np.median(curvatures[stiff, 1] / top)) if curvatures.shape[1] > 1 else 0.0,
        float(np.median(top) / np.median(curvatures[soft, 0])),
        float(np.mean(np.minimum(slopes[stiff] / top, _OUTLIER))),
    )


def largest_curvatures(positions: np.ndarray, density: Program, base: InverseMass) -> np.ndarray:
    """The largest curvature at some of these positions [number, dimension], in the scale of M."""
    return np.asarray(_spectra(jnp.asarray(_some(positions)), density, base)[0][:, 0])


def _some(positions: np.ndarray) -> np.ndarray:
    some: np.ndarray = positions[np.linspace(0, len(positions) - 1, min(POINTS, len(positions))).astype(int)]
    return some


def twice_differentiable(density: Program, position: np.ndarray) -> bool:
    """Whether JAX can derive the density twice; callbacks and some custom derivatives go but once."""
    try:
        jax.eval_shape(lambda x: jax.jvp(jax.grad(density), (x,), (x,))[1], jnp.asarray(position))
    except Exception:
        return False
    return True


@jit
def _spectra(positions: Matrix, density: Program, base: InverseMass) -> tuple[Matrix, Vector]:
    return jax.lax.map(partial(_spectrum, density=density, base=base), positions)


def _spectrum(position: Vector, density: Program, base: InverseMass) -> tuple[Vector, Scalar]:
    """The largest eigenvalues of CᵀHC in size, by orthogonal iteration; and |Cᵀg|²."""
    gradient, hessian_times = jax.linearize(jax.grad(density), position)

    def times(vectors: Matrix) -> Matrix:
        return jax.vmap(lambda y: base.root_transposed(hessian_times(base.root(y))), 1, 1)(vectors)

    def refine(_: int, vectors: Matrix) -> Matrix:
        return jnp.linalg.qr(times(vectors))[0]

    shape = (position.size, min(_DIRECTIONS, position.size))
    begin = jnp.linalg.qr(jax.random.normal(jax.random.key(0), shape, position.dtype))[0]
    vectors = jax.lax.fori_loop(0, _ROUNDS, refine, begin)
    sizes = jnp.linalg.norm(times(vectors), axis=0)
    slope = base.root_transposed(gradient)
    return -jnp.sort(-sizes), dot(slope, slope)
