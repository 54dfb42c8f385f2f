"""A base metric that is diagonal but for some directions: all from diagonal to dense in one type."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._linalg import dot
from mongepatch._pytree import pytree
from mongepatch._typing import Directions, PerDirection, Scalar, Vector
from mongepatch.errors import MetricError

_SMALL = 32
"""Dimension up to which products with all directions cost less than asking whether there are any."""


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
        return self.scale * self._power(self.scale * covector, 1.0)

    def solve(self, vector: Vector) -> Vector:
        """M v."""
        return self._power(vector / self.scale, -1.0) / self.scale

    def root(self, noise: Vector) -> Vector:
        """C z."""
        return self.scale * self._power(noise, 0.5)

    def root_transposed(self, covector: Vector) -> Vector:
        """Cᵀ g."""
        return self._power(self.scale * covector, 0.5)

    def log_det_mass(self) -> Scalar:
        """Log det M."""
        return -2.0 * jnp.log(self.scale).sum() - jnp.log(self.eigenvalues).sum()

    def _power(self, vector: Vector, power: float) -> Vector:
        """(I + U (Λ − I) Uᵀ)ᵖ y."""

        def turned() -> Vector:
            along = (self.eigenvalues**power - 1.0) * dot(vector, self.directions)
            return vector + dot(self.directions, along)

        if vector.size <= _SMALL:
            return turned()
        return jax.lax.cond((self.eigenvalues != 1.0).any(), turned, lambda: vector)
