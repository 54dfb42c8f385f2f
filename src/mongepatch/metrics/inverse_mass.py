"""Constant base metrics M, given by their inverse as users think of it: a covariance.

M⁻¹ = C Cᵀ with C diagonal or lower triangular. The identity costs nothing, a vector costs O(D), a matrix O(D²) a call.
`LowRank`, in its own file, lies between them.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from mongepatch._auto import ToBeFound
from mongepatch._linalg import dot
from mongepatch._pytree import is_concrete, pytree
from mongepatch._typing import Matrix, Scalar, Vector
from mongepatch.errors import MetricError
from mongepatch.metrics.low_rank import LowRank, Matrices
from mongepatch.validation import number_at_least_zero


@pytree
@dataclass(frozen=True)
class Identity:
    """M = I."""

    def check(self, dimension: int) -> None:
        """The identity serves every dimension."""

    def apply(self, covector: Vector) -> Vector:
        """M⁻¹ g."""
        return covector

    def solve(self, vector: Vector) -> Vector:
        """M v."""
        return vector

    def root(self, noise: Vector) -> Vector:
        """C z."""
        return noise

    def root_transposed(self, covector: Vector) -> Vector:
        """Cᵀ g."""
        return covector

    def log_det_mass(self) -> Any:
        """Log det M."""
        return 0.0


@pytree
@dataclass(frozen=True)
class Diagonal:
    """M⁻¹ = diag(variance)."""

    variance: Vector

    def check(self, dimension: int) -> None:
        """Raise unless there is one variance a parameter."""
        _check_shape(self.variance.shape, (dimension,))

    def apply(self, covector: Vector) -> Vector:
        """M⁻¹ g."""
        return self.variance * covector

    def solve(self, vector: Vector) -> Vector:
        """M v."""
        return vector / self.variance

    def root(self, noise: Vector) -> Vector:
        """C z."""
        return jnp.sqrt(self.variance) * noise

    def root_transposed(self, covector: Vector) -> Vector:
        """Cᵀ g."""
        return self.root(covector)

    def log_det_mass(self) -> Scalar:
        """Log det M."""
        return -jnp.log(self.variance).sum()


@pytree
@dataclass(frozen=True)
class Correlated:
    """M⁻¹ = covariance, a full matrix, kept with its lower Cholesky factor C."""

    covariance: Matrix
    factor: Matrix

    def check(self, dimension: int) -> None:
        """Raise unless the matrix is dimension × dimension."""
        _check_shape(self.covariance.shape, (dimension, dimension))

    def apply(self, covector: Vector) -> Vector:
        """M⁻¹ g."""
        return dot(self.covariance, covector)

    def solve(self, vector: Vector) -> Vector:
        """M v."""
        solved = solve_triangular(self.factor, vector, lower=True)
        return solve_triangular(self.factor, solved, lower=True, trans=1)

    def root(self, noise: Vector) -> Vector:
        """C z."""
        return dot(self.factor, noise)

    def root_transposed(self, covector: Vector) -> Vector:
        """Cᵀ g."""
        return dot(covector, self.factor)

    def log_det_mass(self) -> Scalar:
        """Log det M."""
        return -2.0 * jnp.log(jnp.diagonal(self.factor)).sum()


Structure: TypeAlias = Literal["auto", "diagonal", "low-rank", "dense"]


InverseMass: TypeAlias = Identity | Diagonal | Correlated | LowRank | Matrices


def inverse_mass_from(value: Any) -> Any:
    """Turn what users give into a base metric, and refuse anything else.

    Args:
        value: None, a vector of variances, a covariance matrix, or the structure of one that is to be found.
    """
    if isinstance(value, InverseMass | ToBeFound):
        return value
    if value is None:
        return Identity()
    if isinstance(value, str):
        if value not in get_args(Structure):
            raise MetricError(f"inverse_mass must be numbers, None or one of {get_args(Structure)}; it is {value!r}.")
        return ToBeFound("inverse_mass", value)
    try:
        array = jnp.asarray(value, dtype=jnp.result_type(float))
    except (TypeError, ValueError) as error:
        raise MetricError(
            "inverse_mass must be None, a vector of variances or a covariance matrix, "
            f"not an object of type {type(value).__name__}."
        ) from error
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[0] != array.shape[1]):
        raise MetricError(
            "inverse_mass must be None (identity), a vector of D variances or a D × D covariance matrix; "
            f"its shape is {array.shape}."
        )
    if is_concrete(array):
        _check_positive_definite(np.asarray(array))
    if array.ndim == 1:
        return Diagonal(array)
    return Correlated(array, jnp.linalg.cholesky(array))


def _check_shape(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise MetricError(
            f"inverse_mass has shape {shape}, but the target has {expected[0]} parameters: "
            f"its shape must be {expected} or it must be None."
        )


def _check_positive_definite(array: np.ndarray) -> None:
    if not np.isfinite(array).all():
        raise MetricError("inverse_mass has entries that are not finite.")
    if array.ndim == 1:
        if not (array > 0).all():
            raise MetricError(f"inverse_mass is a vector of variances, all above 0; its least is {array.min()}.")
        return
    scale = np.abs(array).max()
    if not np.allclose(array, array.T, rtol=0.0, atol=1e-5 * scale):
        raise MetricError("inverse_mass is a covariance matrix and must be symmetric: use (S + S.T) / 2.")
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError as error:
        least = np.linalg.eigvalsh(array)[0]
        raise MetricError(
            f"inverse_mass is a covariance matrix and must be positive definite; its least eigenvalue is {least:.3g}. "
            "A covariance from too few draws is singular: add a small multiple of the identity."
        ) from error


def alpha_from(value: Any) -> Any:
    """Turn what users give for α into a number of at least 0, or a value that is to be found."""
    if isinstance(value, ToBeFound):
        return value
    if isinstance(value, str) and value == "auto":
        return ToBeFound("alpha")
    return number_at_least_zero("alpha", value, error=MetricError)
