"""The linear algebra of whitened coordinates: P = BᵀB + A and its factor F, P = FFᵀ, from the entries of B and A.

The entries of B come from few products, as a `Colouring` arranges them. Where B and A are sparse, P is taken apart
level by level; where they are not, by a dense Cholesky factor.
"""

from typing import Any, Protocol, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular

from mongepatch._linalg import dot
from mongepatch._typing import AnyVector, Compressed, Entries, Matrix, Scalar
from mongepatch.sparse.adjoint import draw_with_log_det
from mongepatch.sparse.colouring import Colouring
from mongepatch.sparse.elimination import Elimination, Factored
from mongepatch.sparse.level import FirstParts
from mongepatch.sparse.own_rows import find_own_rows
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.plan import SparsePlan

Factor: TypeAlias = Any
"""Whatever an algebra keeps of P. A pytree."""


_ROUNDINGS = 32.0
"""Relative increase of the diagonal of P, in units of the rounding error."""


class Algebra(Protocol):
    """What whitening asks of P. Decided beforehand: hashing and comparing are the plan's, which holds it."""

    rows: np.ndarray
    """Row of each entry of A, in the order in which A is given."""
    columns: np.ndarray
    """Its column."""

    def factor(self, jacobian: Compressed, information: Entries) -> Factor:
        """F from B and A."""

    def log_det(self, factor: Factor) -> Scalar:
        """Log det P."""

    def transposed(self, jacobian: Compressed, residuals: AnyVector) -> AnyVector:
        """Bᵀa."""

    def solve(self, factor: Factor, vector: AnyVector) -> AnyVector:
        """P⁻¹h."""

    def draw(self, factor: Factor, vector: AnyVector, noise: AnyVector) -> AnyVector:
        """P⁻¹h + F⁻ᵀz."""

    def draw_with_log_det(
        self, jacobian: Compressed, information: Entries, vector: AnyVector, noise: AnyVector
    ) -> tuple[AnyVector, Scalar]:
        """P⁻¹h + F⁻ᵀz and log det P from B and A, for gradients alone."""

    def root_transposed(self, factor: Factor, vector: AnyVector) -> AnyVector:
        """Fᵀθ, the inverse of F⁻ᵀz."""


class SparseAlgebra:
    """For a sparse P.

    Args:
        pattern: where B, [residuals, inner coordinates], may differ from 0.
        colouring: how B is made.
        of_data: where A may differ from 0, [inner, inner].
    """

    def __init__(self, pattern: Pattern, colouring: Colouring, of_data: Pattern) -> None:
        self.elimination = Elimination(pattern.gram().union(of_data))
        self.rows, self.columns = self.elimination.rows, self.elimination.columns
        self._plan = SparsePlan(pattern, colouring, self.elimination)
        self._own_rows = find_own_rows(pattern, colouring, self._plan, of_data)

    def factor(self, jacobian: Compressed, information: Entries) -> Factored:
        """Level by level."""
        if not self.elimination.levels:
            total = self._plan.gram(jacobian, jacobian) + information
            increase = np.where(self.rows == self.columns, _increase(information.dtype), 1.0)
            return self.elimination.factor(total * increase)
        return self.elimination.factor_parts(self._parts(jacobian, information))[0]

    def draw_with_log_det(
        self, jacobian: Compressed, information: Entries, vector: AnyVector, noise: AnyVector
    ) -> tuple[AnyVector, Scalar]:
        """By levels, with a derivative of their own; a core alone has one already."""
        if not self.elimination.levels:
            factor = self.factor(jacobian, information)
            return self.draw(factor, vector, noise), self.log_det(factor)
        return draw_with_log_det(self.elimination, self._parts(jacobian, information), vector, noise)

    def _parts(self, jacobian: Compressed, information: Entries) -> FirstParts:
        if self._own_rows is not None:
            return self._own_rows.parts(jacobian, [information])
        terms = [self._plan.gram(jacobian, jacobian), information]
        return self.elimination.parts_of_sum(terms, _increase(information.dtype))

    def log_det(self, factor: Factored) -> Scalar:
        """The sum of the logs of the pivots."""
        return self.elimination.log_det(factor)

    def transposed(self, jacobian: Compressed, residuals: AnyVector) -> AnyVector:
        """A sparse product."""
        return self._plan.back(jacobian, residuals)

    def solve(self, factor: Factored, vector: AnyVector) -> AnyVector:
        """Forwards and backwards through the levels."""
        return self.elimination.solve(factor, vector)

    def draw(self, factor: Factored, vector: AnyVector, noise: AnyVector) -> AnyVector:
        """Forwards with the first, backwards with both."""
        return self.elimination.draw(factor, vector, noise)

    def root_transposed(self, factor: Factored, vector: AnyVector) -> AnyVector:
        """Forwards through the levels."""
        return self.elimination.root_transposed(factor, vector)


class DenseAlgebra:
    """For a P that is better left to LAPACK."""

    def __init__(self, pattern: Pattern, colouring: Colouring) -> None:
        self._pattern, self._colouring = pattern.dense(), colouring
        self._size = size = pattern.shape[1]
        self.rows, self.columns = (part.ravel() for part in np.indices((size, size)))

    def factor(self, jacobian: Compressed, information: Entries) -> Matrix:
        """A lower Cholesky factor."""
        matrix = self._matrix(jacobian)
        precision = dot(matrix.T, matrix) + information.reshape(self._size, self._size)
        return jnp.linalg.cholesky(precision * np.where(np.eye(self._size), _increase(precision.dtype), 1.0))

    def log_det(self, factor: Any) -> Scalar:
        """From the diagonal of the factor."""
        return 2.0 * jnp.log(jnp.diagonal(factor)).sum()

    def transposed(self, jacobian: Compressed, residuals: AnyVector) -> AnyVector:
        """A dense product."""
        return dot(self._matrix(jacobian).T, residuals)

    def solve(self, factor: Any, vector: AnyVector) -> AnyVector:
        """Two triangular systems."""
        return cho_solve((factor, True), vector)

    def draw(self, factor: Any, vector: AnyVector, noise: AnyVector) -> AnyVector:
        """F⁻ᵀ(F⁻¹h + z): two triangular systems."""
        forwards = solve_triangular(factor, vector, lower=True)
        return solve_triangular(factor, forwards + noise, lower=True, trans=1)

    def draw_with_log_det(
        self, jacobian: Compressed, information: Entries, vector: AnyVector, noise: AnyVector
    ) -> tuple[AnyVector, Scalar]:
        """One after the other."""
        factor = self.factor(jacobian, information)
        return self.draw(factor, vector, noise), self.log_det(factor)

    def root_transposed(self, factor: Any, vector: AnyVector) -> AnyVector:
        """A product."""
        return dot(factor.T, vector)

    def _matrix(self, jacobian: Compressed) -> Any:
        return jnp.where(self._pattern, self._colouring.expanded(jacobian), 0.0)


def _increase(dtype: Any) -> float:
    """What the diagonal of P is multiplied by.

    A mean that many groups share has the precision that is left of a difference of numbers near n/τ². Where τ is tiny,
    rounding would make it negative. Coordinates may be any, but they must be finite.
    """
    return float(1.0 + _ROUNDINGS * np.finfo(dtype).eps)
