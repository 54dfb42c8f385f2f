"""A patch whose matrices are sparse: a diagonal M, and residuals that know few parameters each."""

from typing import NamedTuple

import jax.numpy as jnp

from mongepatch._linalg import log_abs_ratio
from mongepatch._typing import Compressed, Entries, Scalar, ScalarLike, Vector
from mongepatch.metrics.inverse_mass import Diagonal, Identity
from mongepatch.sparse.elimination import Factored
from mongepatch.sparse.plan import SparsePlan
from mongepatch.sparse.sums import take_or_zero


class SparseAlgebra(NamedTuple):
    """For a diagonal M and a sparse J: level by level, without a dense matrix but for a core."""

    plan: SparsePlan
    inverse_mass: Identity | Diagonal
    square: ScalarLike

    def read(self, compressed: Compressed) -> Compressed:
        """As it is."""
        return compressed

    def factor(self, jacobian: Compressed) -> Factored:
        """The elimination of G."""
        return self.plan.elimination.factor(self._entries(jacobian, jacobian))

    def log_det(self, factor: Factored) -> Scalar:
        """The sum of the logs of the pivots."""
        return self.plan.elimination.log_det(factor)

    def multiply(self, jacobian: Compressed, velocity: Vector) -> Vector:
        """Mv + α²Jᵀ(Jv)."""
        return self.inverse_mass.solve(velocity) + self.omega(jacobian, jacobian, velocity)

    def solve(self, jacobian: Compressed, factor: Factored, covector: Vector) -> Vector:
        """Forwards and backwards through the levels."""
        return self.plan.elimination.solve(factor, covector)

    def root(self, jacobian: Compressed, factor: Factored, noise: Vector) -> Vector:
        """F⁻ᵀz with G = FFᵀ."""
        return self.plan.elimination.root(factor, noise)

    def weights(self, jacobian: Compressed, factor: Factored) -> Compressed:
        """It takes those entries of G⁻¹ that are on the pattern of G, and no others."""
        return self.square * self.plan.weights(jacobian, self.plan.elimination.inverse(factor))

    def omega(self, jacobian: Compressed, change: Compressed, velocity: Vector) -> Vector:
        """Two sparse products."""
        return self.square * self.plan.square(jacobian, change, velocity)

    def kick_factor(self, jacobian: Compressed, change: Compressed, length: ScalarLike) -> Factored:
        """The same elimination as for G."""
        other = jacobian + length * change
        return self.plan.elimination.factor(self._entries(jacobian, other), self._entries(other, jacobian))

    def kick_solve(self, jacobian: Compressed, factor: Factored, covector: Vector) -> Vector:
        """The same as for G."""
        return self.plan.elimination.solve(factor, covector)

    def log_abs_ratio(self, after: Factored, before: Factored) -> Scalar:
        """Pivot by pivot."""
        return log_abs_ratio(self.plan.elimination.pivots(after), self.plan.elimination.pivots(before))

    def _entries(self, jacobian: Compressed, other: Compressed) -> Entries:
        """M + α²JᵀB on its pattern."""
        mass = self.inverse_mass.solve(jnp.ones(self.plan.dimension, jacobian.dtype))
        return take_or_zero(mass, self.plan.diagonal) + self.square * self.plan.gram(jacobian, other)
