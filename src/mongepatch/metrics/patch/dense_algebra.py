"""A patch whose matrices are dense, in the coordinates where M is the identity.

With M⁻¹ = CCᵀ and K = JC, G is C⁻ᵀ(I + α²KᵀK)C⁻¹, so that M itself is never needed. Where there are fewer residuals
than parameters, all factors are as small as the residuals are few.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, lu_factor, lu_solve, solve_triangular

from mongepatch._linalg import dot, log_abs_ratio
from mongepatch._typing import Compressed, Jacobian, Matrix, ResidualMatrix, Scalar, ScalarLike, Vector
from mongepatch.metrics.inverse_mass import InverseMass
from mongepatch.sparse.plan import JacobianPlan


class _Given(NamedTuple):
    plan: JacobianPlan
    inverse_mass: InverseMass
    square: ScalarLike


class _DenseAlgebra(_Given):
    """What both shapes share. K is [residuals, dimension]."""

    def read(self, compressed: Compressed) -> Jacobian:
        """K, from the entries of J."""
        pattern = self.plan.pattern
        jacobian = self.plan.colouring.expanded(compressed)
        if not pattern.is_full:
            jacobian = jnp.where(pattern.dense(), jacobian, 0.0)
        return jax.vmap(self.inverse_mass.root_transposed)(jacobian)

    def log_det(self, factor: Matrix) -> Scalar:
        """Log det M and twice the sum of the logs of the factor's diagonal."""
        return self.inverse_mass.log_det_mass() + 2.0 * jnp.log(jnp.diagonal(factor)).sum()

    def multiply(self, jacobian: Jacobian, velocity: Vector) -> Vector:
        """Mv + α²Jᵀ(Jv)."""
        return self.inverse_mass.solve(velocity) + self.omega(jacobian, jacobian, velocity)

    def omega(self, jacobian: Jacobian, change: Jacobian, velocity: Vector) -> Vector:
        """α²Jᵀ(J̇v), where Jᵀ is M C Kᵀ, since C⁻ᵀ = MC."""
        along = dot(change, self.inverse_mass.root_transposed(self.inverse_mass.solve(velocity)))
        return self.square * self.inverse_mass.solve(self.inverse_mass.root(dot(along, jacobian)))

    def log_abs_ratio(self, after: Any, before: Any) -> Scalar:
        """From the diagonals of two triangular factors."""
        return log_abs_ratio(*(jnp.diagonal(factor.lu[0]) for factor in (after, before)))


class _KickFactor(NamedTuple):
    """Factors of G + eΩ̃."""

    lu: Any
    other: Jacobian
    """B = K + eK̇."""


class TallAlgebra(_DenseAlgebra):
    """At least as many residuals as parameters: matrices [dimension, dimension]."""

    def factor(self, jacobian: Jacobian) -> Matrix:
        """The lower Cholesky factor F of I + α²KᵀK."""
        return jnp.linalg.cholesky(_identity_plus(self.square * dot(jacobian.T, jacobian)))

    def solve(self, jacobian: Jacobian, factor: Matrix, covector: Vector) -> Vector:
        """C F⁻ᵀF⁻¹ Cᵀp."""
        return self.inverse_mass.root(cho_solve((factor, True), self.inverse_mass.root_transposed(covector)))

    def root(self, jacobian: Jacobian, factor: Matrix, noise: Vector) -> Vector:
        """C F⁻ᵀz."""
        return self.inverse_mass.root(solve_triangular(factor, noise, lower=True, trans=1))

    def weights(self, jacobian: Jacobian, factor: Matrix) -> Jacobian:
        """α²K(I + α²KᵀK)⁻¹."""
        inverse = cho_solve((factor, True), jnp.eye(len(factor), dtype=factor.dtype))
        return self.square * dot(jacobian, inverse)

    def kick_factor(self, jacobian: Jacobian, change: Jacobian, length: ScalarLike) -> _KickFactor:
        """Factors of I + α²KᵀB."""
        other = jacobian + length * change
        return _KickFactor(lu_factor(_identity_plus(self.square * dot(jacobian.T, other))), other)

    def kick_solve(self, jacobian: Jacobian, factor: _KickFactor, covector: Vector) -> Vector:
        """C(I + α²KᵀB)⁻¹Cᵀp."""
        return self.inverse_mass.root(lu_solve(factor.lu, self.inverse_mass.root_transposed(covector)))


class WideAlgebra(_DenseAlgebra):
    """Fewer residuals than parameters: matrices [residuals, residuals], by Woodbury's formula."""

    def factor(self, jacobian: Jacobian) -> ResidualMatrix:
        """The lower Cholesky factor F of I + α²KKᵀ, whose determinant is that of I + α²KᵀK."""
        return jnp.linalg.cholesky(_identity_plus(self.square * dot(jacobian, jacobian.T)))

    def solve(self, jacobian: Jacobian, factor: ResidualMatrix, covector: Vector) -> Vector:
        """C(I − α²Kᵀ(FFᵀ)⁻¹K)Cᵀp."""
        white = self.inverse_mass.root_transposed(covector)
        inner = cho_solve((factor, True), dot(jacobian, white))
        return self.inverse_mass.root(white - self.square * dot(inner, jacobian))

    def root(self, jacobian: Jacobian, factor: ResidualMatrix, noise: Vector) -> Vector:
        """C(I − α²KᵀF⁻ᵀ(I + F)⁻¹K)z.

        The bracket T has TTᵀ = I − α²Kᵀ(FFᵀ)⁻¹K: with Q = (I + F)⁻¹ this asks for QQᵀ = (I − QF)(I − QF)ᵀ, and I − QF
        is Q. For one residual it is the velocity draw of the Monge metric.
        """
        inner = solve_triangular(_identity_plus(factor), dot(jacobian, noise), lower=True)
        inner = solve_triangular(factor, inner, lower=True, trans=1)
        return self.inverse_mass.root(noise - self.square * dot(inner, jacobian))

    def weights(self, jacobian: Jacobian, factor: ResidualMatrix) -> Jacobian:
        """α²(FFᵀ)⁻¹K, which is α²K(I + α²KᵀK)⁻¹."""
        return self.square * cho_solve((factor, True), jacobian)

    def kick_factor(self, jacobian: Jacobian, change: Jacobian, length: ScalarLike) -> _KickFactor:
        """Factors of I + α²BKᵀ."""
        other = jacobian + length * change
        return _KickFactor(lu_factor(_identity_plus(self.square * dot(other, jacobian.T))), other)

    def kick_solve(self, jacobian: Jacobian, factor: _KickFactor, covector: Vector) -> Vector:
        """C(I − α²Kᵀ(I + α²BKᵀ)⁻¹B)Cᵀp."""
        white = self.inverse_mass.root_transposed(covector)
        inner = lu_solve(factor.lu, dot(factor.other, white))
        return self.inverse_mass.root(white - self.square * dot(inner, jacobian))


def _identity_plus(matrix: Matrix) -> Matrix:
    return matrix + jnp.eye(len(matrix), dtype=matrix.dtype)
