"""Dense matrices, small or left over from an elimination, with factors that are cheap to differentiate."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import lu_factor, lu_solve, solve_triangular

from mongepatch._linalg import dot as large_dot
from mongepatch._typing import AnyVector, Matrix, Scalar
from mongepatch.sparse.pivots import inverse_root

SMALL = 8
"""Rows up to which a matrix is eliminated row by row: calls of LAPACK take longer."""


def dot(left: jax.Array, right: jax.Array) -> jax.Array:
    """A product of matrices and vectors: small ones as a loop, since on CPUs the call of a library takes longer."""
    if max(*left.shape, *right.shape) > SMALL:
        return large_dot(left, right)
    return (left * right).sum(-1) if right.ndim == 1 else (left[..., None] * right).sum(-2)


class SymmetricCore(NamedTuple):
    """A positive definite matrix A = LLᵀ with W = L⁻¹: solutions are products, and so are their derivatives."""

    matrix: Matrix
    inverse_root: Matrix
    """W, lower triangular."""
    log_det: Scalar
    """Log det A."""

    def solve(self, vector: AnyVector) -> AnyVector:
        """A⁻¹b = WᵀWb."""
        return dot(dot(self.inverse_root, vector), self.inverse_root)

    def pivots(self) -> AnyVector:
        """Squares of the diagonal of L."""
        return _diagonal(self.inverse_root) ** -2

    def root(self, noise: AnyVector) -> AnyVector:
        """L⁻ᵀz."""
        return dot(noise, self.inverse_root)

    def draw(self, vector: AnyVector, noise: AnyVector) -> AnyVector:
        """A⁻¹b + L⁻ᵀz."""
        return dot(dot(self.inverse_root, vector) + noise, self.inverse_root)

    def pull(self, vector: AnyVector, noise: AnyVector, by_draw: AnyVector, by_log_det: Scalar) -> "CoreChange":
        """The derivative of `draw` and of log det A in reverse.

        With p = Wg, q = Wb and T the symmetric matrix that has the lower triangle of (q + z)pᵀ + pqᵀ, it is
        X + Xᵀ = Wᵀ(2c − T)W by A, Wᵀp by b and p by z, where g and c are those by the draw and by log det A.
        """
        root = self.inverse_root
        moved, right = dot(root, by_draw), dot(root, vector)
        outer = (right + noise)[:, None] * moved + moved[:, None] * right
        lower = np.tril(np.ones(outer.shape, bool))
        inside = 2.0 * by_log_det * np.eye(len(outer), dtype=outer.dtype) - jnp.where(lower, outer, outer.T)
        return CoreChange(dot(root.T, dot(inside, root)), dot(moved, root), moved)

    def root_transposed(self, vector: AnyVector) -> AnyVector:
        """Lᵀx, as WAx."""
        return dot(self.inverse_root, dot(self.matrix, vector))

    def inverse(self) -> Matrix:
        """A⁻¹ = WᵀW."""
        return dot(self.inverse_root.T, self.inverse_root)


class CoreChange(NamedTuple):
    """What a function changes by a core and by what is solved with it."""

    doubled: Matrix
    """X + Xᵀ, with X by the matrix."""
    right: AnyVector
    """By b."""
    noise: AnyVector
    """By z."""


class SmallCore(NamedTuple):
    """A small matrix that is not symmetric."""

    inverse: Matrix
    diagonal: AnyVector

    def solve(self, vector: AnyVector) -> AnyVector:
        """A⁻¹b."""
        return dot(self.inverse, vector)

    def pivots(self) -> AnyVector:
        """Of the elimination without exchanges."""
        return self.diagonal


class LargeCore(NamedTuple):
    """A matrix that is not symmetric, by LAPACK."""

    factors: Any

    def solve(self, vector: AnyVector) -> AnyVector:
        """A⁻¹b."""
        return lu_solve(self.factors, vector)

    def pivots(self) -> AnyVector:
        """The diagonal of U."""
        return _diagonal(self.factors[0])


def factor_symmetric(matrix: Matrix) -> SymmetricCore:
    """Factors of a positive definite matrix: NaN where it is not."""
    return SymmetricCore(matrix, *_inverse_root_and_log_det(matrix))


def factor_general(matrix: Matrix) -> SmallCore | LargeCore:
    """Factors of any matrix."""
    if len(matrix) > SMALL:
        return LargeCore(lu_factor(matrix))
    identity = jnp.eye(len(matrix), dtype=matrix.dtype)
    both, diagonal = jnp.concatenate([matrix, identity], axis=1), []
    for number in range(len(matrix)):
        diagonal.append(both[number, number])
        row = both[number] / diagonal[-1]
        both = both - jnp.outer(both[:, number] - identity[number], row)
    return SmallCore(both[:, len(matrix) :], jnp.stack(diagonal))


@jax.custom_jvp
def _inverse_root_and_log_det(matrix: Matrix) -> tuple[Matrix, Scalar]:
    """W = L⁻¹, lower triangular, with A = LLᵀ, and log det A."""
    root = _inverse_root(matrix)
    return root, -2.0 * jnp.log(_diagonal(root)).sum()


def _inverse_root(matrix: Matrix) -> Matrix:
    identity = jnp.eye(len(matrix), dtype=matrix.dtype)
    if len(matrix) > SMALL:
        return solve_triangular(jnp.linalg.cholesky(matrix, symmetrize_input=False), identity, lower=True)
    if len(matrix) == 1:
        return inverse_root(matrix)
    both, rows = jnp.concatenate([matrix, identity], axis=1), []
    for _ in range(len(matrix)):
        scale = inverse_root(both[0, 0])
        row = both[0, 1:] * scale
        both = both[1:, 1:] - jnp.outer(both[1:, 0] * scale, row)
        rows.append(row[-len(matrix) :])
    return jnp.stack(rows)


@_inverse_root_and_log_det.defjvp
def _differentiate(
    primals: tuple[Matrix], tangents: tuple[Matrix]
) -> tuple[tuple[Matrix, Scalar], tuple[Matrix, Scalar]]:
    """DW = −Φ(W dA Wᵀ)W, where Φ takes the lower triangle with half of the diagonal, and d log det A = tr W dA Wᵀ.

    Three products forwards and three in reverse, where the rules of a Cholesky factor and of each system that is solved
    with it would call LAPACK again.
    """
    root, log_det = _inverse_root_and_log_det(*primals)
    if len(root) == 1:
        inner = root**2 * tangents[0]
        return (root, log_det), (-0.5 * inner * root, inner.sum())
    half = jnp.tril(jnp.ones_like(root)) - 0.5 * jnp.eye(len(root), dtype=root.dtype)
    inner = dot(dot(root, tangents[0]), root.T)
    return (root, log_det), (-dot(half * inner, root), _diagonal(inner).sum())


def _diagonal(matrix: Matrix) -> AnyVector:
    """The diagonal as a slice: that of `jax.numpy` is a gather."""
    return matrix.reshape(-1)[:: len(matrix) + 1]
