"""Metrics that are full matrices: any G(x), its Christoffel terms by automatic differentiation.

Costs are those of matrices: O(D³) arithmetic a kick, and as many products with derivatives as it takes to differentiate
G. Derivatives are contracted with a velocity before they are stored: no D × D × D array is kept where D is above 16.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, lu_factor, lu_solve, solve_triangular

from mongepatch._keywords import checked_keywords
from mongepatch._linalg import dot, log_abs_ratio
from mongepatch._pytree import pytree
from mongepatch._typing import LogDensity, Matrix, Scalar, ScalarLike, Vector
from mongepatch.errors import MetricError
from mongepatch.metrics.base import Cost
from mongepatch.metrics.kick import MatrixBend, matrix_kick
from mongepatch.program import TracedFunction


class DensePoint(NamedTuple):
    """The geometry at a position."""

    position: Vector
    logdensity: Scalar
    gradient: Vector
    matrix: Matrix
    """G."""
    factor: Matrix
    """The lower Cholesky factor of G; NaN where G is not positive definite."""


class DenseSlope(NamedTuple):
    """Where derivatives of G are taken."""

    logdensity: LogDensity
    log_det: Vector
    """∇ ½ log det G."""


class _DenseKick(NamedTuple):
    """The linear systems of a kick, by LU factors; the change along a velocity is Ω̃ itself."""

    matrix: Matrix
    """G."""

    def omega(self, change: Matrix, velocity: Vector) -> Vector:
        """Ω̃ v."""
        return dot(change, velocity)

    def factor(self, change: Matrix, length: ScalarLike) -> Any:
        """LU factors of G + eΩ̃."""
        return lu_factor(self.matrix + length * change)

    def solve(self, factor: Any, covector: Vector) -> Vector:
        """(G + eΩ̃)⁻¹ p."""
        return lu_solve(factor, covector)

    def log_abs_ratio(self, after: Any, before: Any) -> Scalar:
        """From the diagonals of the factors."""
        return log_abs_ratio(jnp.diagonal(after[0]), jnp.diagonal(before[0]))


class DenseMetric:
    """What all metrics that are full matrices share. A metric of this kind says what its matrix is.

    It may also say how to find vᵀGv and Ω̃(v) for less than by differentiating the whole matrix.
    """

    alpha: ClassVar[float] = float("nan")

    def matrix(self, logdensity: LogDensity, position: Vector) -> Matrix:
        """G(x), symmetric and positive definite."""
        raise NotImplementedError

    def square(self, logdensity: LogDensity, position: Vector, velocity: Vector) -> Scalar:
        """vᵀG(x)v."""
        return dot(velocity, dot(self.matrix(logdensity, position), velocity))

    def omega(self, logdensity: LogDensity, position: Vector, velocity: Vector) -> Matrix:
        """Ω̃ᵢⱼ(v) = ½ Σₖ vₖ (∂ₖGᵢⱼ + ∂ⱼGᵢₖ − ∂ᵢGₖⱼ).

        The first term is the derivative of G along v, the other two come from the Jacobian of x ↦ G(x)v, taken a few
        columns at a time.
        """

        def along(direction: Vector) -> Matrix:
            def of_position(x: Vector) -> Matrix:
                return self.matrix(logdensity, x)

            change: Matrix = jax.jvp(of_position, (position,), (direction,))[1]
            return change

        columns = _for_each(
            lambda direction: dot(along(direction), velocity), jnp.eye(position.size, dtype=position.dtype)
        )
        return 0.5 * (along(velocity) + columns.T - columns)

    def cost(self, dimension: int) -> Cost:
        """G counts as D gradients, and so does its derivative, forward along one direction or reverse."""
        return Cost(
            point=1 + dimension,
            slope=dimension,
            revisit=dimension,
            bend=dimension * (dimension + 1),
            volume_bends=1,
            force=dimension,
        )

    def check(self, dimension: int) -> None:
        """Serves every dimension, unless a metric knows better."""

    def at(self, logdensity: LogDensity, position: Vector) -> tuple[DensePoint, DenseSlope]:
        """G and its Cholesky factor; ∇ ½ log det G = ∇ ½⟨W, G(x)⟩ at fixed W = G⁻¹."""
        value, gradient = jax.value_and_grad(logdensity)(position)
        matrix = self.matrix(logdensity, position)
        factor = jnp.linalg.cholesky(matrix)
        inverse = cho_solve((factor, True), jnp.eye(position.size, dtype=position.dtype))
        log_det = jax.grad(lambda x: 0.5 * jnp.vdot(inverse, self.matrix(logdensity, x), precision="highest"))(position)
        return DensePoint(position, value, gradient, matrix, factor), DenseSlope(logdensity, log_det)

    def log_det(self, point: DensePoint) -> Scalar:
        """Twice the sum of the logs of the factor's diagonal."""
        return 2.0 * jnp.log(jnp.diagonal(point.factor)).sum()

    def momentum(self, point: DensePoint, velocity: Vector) -> Vector:
        """G v."""
        return dot(point.matrix, velocity)

    def velocity(self, point: DensePoint, momentum: Vector) -> Vector:
        """G⁻¹ p."""
        return cho_solve((point.factor, True), momentum)

    def velocity_from_noise(self, point: DensePoint, noise: Vector) -> Vector:
        """F⁻ᵀ z with G = FFᵀ."""
        return solve_triangular(point.factor, noise, lower=True, trans=1)

    def bend(self, point: DensePoint, slope: DenseSlope, velocity: Vector) -> MatrixBend:
        """∇ ½ log det G and Ω̃(v)."""
        return MatrixBend(slope.log_det, self.omega(slope.logdensity, point.position, velocity))

    def kick(
        self, point: DensePoint, slope: DenseSlope, velocity: Vector, bend: MatrixBend, length: ScalarLike
    ) -> tuple[Vector, MatrixBend, Scalar]:
        """See `matrix_kick`."""
        along = partial(self.bend, point, slope)
        return matrix_kick(_DenseKick(point.matrix), point.gradient, along, velocity, bend, length)

    def force(self, point: DensePoint, slope: DenseSlope, velocity: Vector) -> Vector:
        """∇ℓ − ½∇ log det G + ½∇(vᵀGv), the last by one reverse pass."""
        kinetic = jax.grad(lambda x: 0.5 * self.square(slope.logdensity, x, velocity))
        return point.gradient - slope.log_det + kinetic(point.position)


@checked_keywords
@pytree
@dataclass(frozen=True, init=False)
class Dense(DenseMetric):
    """Any metric G(x) of your own.

    Args:
        metric_fn: from the flat vector of D parameters (of a dict, keys sorted) to a symmetric positive definite D × D
            matrix, written with jax.numpy. Of a matrix that is not symmetric, the symmetric part is used.

    Example:
        >>> metric = mp.Dense(lambda x: jnp.eye(2) * (1.0 + x @ x))
    """

    metric_fn: TracedFunction

    def __init__(self, metric_fn: Any) -> None:
        object.__setattr__(self, "metric_fn", TracedFunction("metric_fn", metric_fn))

    def check(self, dimension: int) -> None:
        """Raise `MetricError` unless the function gives a D × D matrix."""
        check_square(self.metric_fn, dimension)

    def matrix(self, logdensity: LogDensity, position: Vector) -> Matrix:
        """G(x)."""
        return symmetric(self.metric_fn(position))


def check_square(function: TracedFunction, dimension: int) -> None:
    """Raise `MetricError` unless a function of the position gives a D × D matrix."""
    shape = function.shape(dimension)
    if shape != (dimension, dimension):
        raise MetricError(
            f"{function.name} must return a matrix of shape {(dimension, dimension)} for {dimension} parameters; "
            f"its shape is {shape}."
        )


_AT_ONCE = 16
"""Directions that G is differentiated along at a time."""


def _for_each(function: Callable[[Vector], Vector], rows: Matrix) -> Matrix:
    """A function of every row. A loop where there are many, so that what it goes through is never held all at once."""
    if len(rows) <= _AT_ONCE:
        return jax.vmap(function)(rows)
    return jax.lax.map(function, rows, batch_size=_AT_ONCE)


def symmetric(matrix: Matrix) -> Matrix:
    """The symmetric part of a matrix. All that is computed from G must mean the same G, or draws would be biased."""
    return 0.5 * (matrix + matrix.T)
