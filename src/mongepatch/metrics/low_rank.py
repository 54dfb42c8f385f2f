"""A base metric that is diagonal but for some directions: all from diagonal to dense in one type."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._linalg import dot
from mongepatch._pytree import pytree
from mongepatch._typing import Directions, Matrix, PerDirection, Scalar, Vector
from mongepatch.errors import MetricError

_SMALL = 32
"""Dimension up to which one product with a matrix costs less than two with the directions, or asking for any."""


@pytree
@dataclass(frozen=True)
class LowRank:
    """M⁻¹ = S (I + U (Λ − I) Uᵀ) S with a diagonal S and orthonormal columns U, some of whose λ may be 1.

    C = S (I + U (√Λ − I) Uᵀ). The number of columns is a capacity, decided once: an estimate can go from a diagonal
    matrix (no λ other than 1) to a dense one (as many columns as rows), and nothing is compiled again.
    """

    scale: Vector
    """The diagonal of S."""
    directions: Directions
    """U, [dimension, capacity]."""
    eigenvalues: PerDirection
    """Λ, [capacity]."""

    @classmethod
    def identity(cls, dimension: int, capacity: int) -> "LowRank":
        """M = I, with room for directions."""
        parts = (np.ones(dimension), np.zeros((dimension, capacity)), np.ones(capacity))
        return cls(*(on_device(part, jnp.result_type(float)) for part in parts))

    def check(self, dimension: int) -> None:
        """Raise unless there is one scale a parameter."""
        if self.scale.shape != (dimension,):
            raise MetricError(f"inverse_mass is for {self.scale.size} parameters; the target has {dimension}.")

    def apply(self, covector: Vector) -> Vector:
        """M⁻¹ g."""
        return self._times(self.scale, 1.0, self.scale, covector)

    def solve(self, vector: Vector) -> Vector:
        """M v."""
        return self._times(1.0 / self.scale, -1.0, 1.0 / self.scale, vector)

    def root(self, noise: Vector) -> Vector:
        """C z."""
        return self._times(self.scale, 0.5, jnp.ones_like(self.scale), noise)

    def root_transposed(self, covector: Vector) -> Vector:
        """Cᵀ g."""
        return self._times(jnp.ones_like(self.scale), 0.5, self.scale, covector)

    def log_det_mass(self) -> Scalar:
        """Log det M."""
        return -2.0 * jnp.log(self.scale).sum() - jnp.log(self.eigenvalues).sum()

    def as_matrices(self) -> "LowRank | Matrices":
        """The same with its matrices, for many products; itself in dimensions in which these would cost more."""
        if self.scale.size > _SMALL:
            return self
        ones = jnp.ones_like(self.scale)
        return Matrices(
            self._matrix(self.scale, 1.0, self.scale),
            self._matrix(1.0 / self.scale, -1.0, 1.0 / self.scale),
            self._matrix(self.scale, 0.5, ones),
            self._matrix(ones, 0.5, self.scale),
            self.log_det_mass(),
        )

    def _matrix(self, left: Vector, power: float, right: Vector) -> Matrix:
        """L (I + U (Λ − I) Uᵀ)ᵖ R with diagonal L and R."""
        factors = self.eigenvalues**power - 1.0
        turn = dot(self.directions * factors, self.directions.T) + np.eye(self.scale.size, dtype=self.scale.dtype)
        return left[:, None] * turn * right

    def _times(self, left: Vector, power: float, right: Vector, vector: Vector) -> Vector:
        """L (I + U (Λ − I) Uᵀ)ᵖ R y."""
        if vector.size <= _SMALL:
            return dot(self._matrix(left, power, right), vector)
        factors = self.eigenvalues**power - 1.0

        def turned() -> Vector:
            return scaled + dot(self.directions, factors * dot(scaled, self.directions))

        scaled = right * vector
        return left * jax.lax.cond((self.eigenvalues != 1.0).any(), turned, lambda: scaled)


@pytree
@dataclass(frozen=True)
class Matrices:
    """A `LowRank` of a small dimension whose matrices are made: one product with a matrix is all that is left to do.

    Compiled code would make matrices once for a loop, but those of each call by themselves, and not see that products
    with them are the same.
    """

    inverse: Matrix
    """M⁻¹."""
    mass: Matrix
    """M."""
    factor: Matrix
    """C."""
    transposed: Matrix
    """Cᵀ."""
    log_det: Scalar
    """Log det M."""

    def check(self, dimension: int) -> None:
        """Matrices are made from a base metric that was checked."""

    def apply(self, covector: Vector) -> Vector:
        """M⁻¹ g."""
        return dot(self.inverse, covector)

    def solve(self, vector: Vector) -> Vector:
        """M v."""
        return dot(self.mass, vector)

    def root(self, noise: Vector) -> Vector:
        """C z."""
        return dot(self.factor, noise)

    def root_transposed(self, covector: Vector) -> Vector:
        """Cᵀ g."""
        return dot(self.transposed, covector)

    def log_det_mass(self) -> Scalar:
        """Log det M."""
        return self.log_det
