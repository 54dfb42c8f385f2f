"""The SoftAbs metric: the Hessian of the log density with its eigenvalues made positive, smoothly."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._keywords import checked_keywords
from mongepatch._pytree import pytree
from mongepatch._typing import LogDensity, Matrix, Scalar, Vector
from mongepatch.errors import MetricError
from mongepatch.metrics.dense import DenseMetric
from mongepatch.validation import positive_number


@checked_keywords
@pytree
@dataclass(frozen=True, init=False)
class SoftAbs(DenseMetric):
    """G = Q diag(λ coth(κλ)) Qᵀ, where −∇²ℓ = Q diag(λ) Qᵀ (Betancourt 2013).

    Needs nothing but the density, and third derivatives of it: D² products with them per bend.

    Reference: Betancourt, M. (2013). A general metric for Riemannian manifold Hamiltonian Monte Carlo. Geometric
    Science of Information, LNCS 8085.

    Args:
        kappa: κ > 0, how hard the absolute value is. Eigenvalues much larger than 1/κ keep their size and lose their
            sign; smaller ones become 1/κ.

    Example:
        >>> metric = mp.SoftAbs(kappa=10.0)
    """

    kappa: Any

    def __init__(self, kappa: Any) -> None:
        object.__setattr__(self, "kappa", positive_number("kappa", kappa, error=MetricError))

    def matrix(self, logdensity: LogDensity, position: Vector) -> Matrix:
        """G(x), from the Hessian."""
        return soft_absolute(jax.hessian(logdensity)(position), self.kappa)


@jax.custom_jvp
def soft_absolute(hessian: Matrix, kappa: Scalar) -> Matrix:
    """The symmetric matrix with eigenvalues λ coth(κλ)."""
    eigenvalues, vectors = jnp.linalg.eigh(hessian)
    return _compose(vectors, jnp.diag(_soft(eigenvalues, kappa)))


@soft_absolute.defjvp
def _soft_absolute_jvp(primals: tuple[Matrix, Scalar], tangents: tuple[Matrix, Scalar]) -> tuple[Matrix, Matrix]:
    """Daleckii and Krein: in the eigenbasis the change is multiplied by divided differences, finite at ties too.

    κ is a setting and has no derivative.
    """
    (hessian, kappa), (change, _) = primals, tangents
    eigenvalues, vectors = jnp.linalg.eigh(hessian)
    soft = _soft(eigenvalues, kappa)
    gaps = eigenvalues[:, None] - eigenvalues[None, :]
    middles = 0.5 * (eigenvalues[:, None] + eigenvalues[None, :])
    # Closer than this, rounding spoils the quotient more than a derivative at the middle misses it.
    tied = jnp.abs(gaps) <= float(np.finfo(gaps.dtype).eps) ** (1 / 3) * (jnp.abs(middles) + 1.0 / kappa)
    differences = jnp.where(
        tied, _soft_slope(middles, kappa), (soft[:, None] - soft[None, :]) / jnp.where(tied, 1.0, gaps)
    )
    inner = _compose(vectors.T, change)
    return _compose(vectors, jnp.diag(soft)), _compose(vectors, differences * inner)


_SMALL = 1e-2
"""|κλ| below which series are more accurate than quotients."""


def _soft(eigenvalues: jax.Array, kappa: Scalar) -> jax.Array:
    """λ coth(κλ), which is 1/κ at 0."""
    u = jnp.abs(kappa * eigenvalues)
    safe = jnp.where(u < _SMALL, 1.0, u)
    return jnp.where(u < _SMALL, 1.0 + u**2 / 3.0 - u**4 / 45.0, safe / jnp.tanh(safe)) / kappa


def _soft_slope(eigenvalues: jax.Array, kappa: Scalar) -> jax.Array:
    """The derivative of λ coth(κλ): coth u − u/sinh² u with u = κλ."""
    u = kappa * eigenvalues
    size = jnp.abs(u)
    safe = jnp.where(size < _SMALL, 1.0, size)
    decay = jnp.exp(-2.0 * safe)
    quotient = 1.0 / jnp.tanh(safe) - 4.0 * safe * decay / (1.0 - decay) ** 2
    return jnp.sign(u) * jnp.where(size < _SMALL, 2.0 * size / 3.0 - 4.0 * size**3 / 45.0, quotient)


def _compose(vectors: Matrix, inner: Matrix) -> Matrix:
    highest = jax.lax.Precision.HIGHEST
    return jnp.einsum("ij,jk,lk->il", vectors, inner, vectors, precision=highest)
