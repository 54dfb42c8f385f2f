"""The Fisher metric: the expected information of the data, plus the precision of the prior."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._keywords import checked_keywords
from mongepatch._linalg import dot
from mongepatch._pytree import is_concrete, pytree
from mongepatch._typing import AnyVector, Jacobian, LogDensity, Matrix, Scalar, Vector
from mongepatch.errors import MetricError
from mongepatch.metrics.base import Cost
from mongepatch.metrics.dense import DenseMetric, check_square, symmetric
from mongepatch.program import TracedFunction
from mongepatch.validation import positive_number


@checked_keywords
@pytree
@dataclass(frozen=True, init=False)
class Fisher(DenseMetric):
    """G(x) = I(x) + P, for a model whose expected information I is known.

    For logistic regression and for Gaussian observations of any mean function, `Fisher.logistic` and `Fisher.gaussian`
    need no formula, and cost far less than an information that is differentiated as a matrix.

    Args:
        information: I(x), from the flat vector of D parameters (of a dict, keys sorted) to a D × D matrix, written with
            jax.numpy. `target.information` of the targets that have one holds their prior too.
        prior_precision: P, the inverse of the prior's covariance: one number or D numbers for its diagonal, or a
            D × D matrix. I + P must be positive definite everywhere.

    Example:
        >>> target = mp.targets.banana()
        >>> metric = mp.Fisher(target.information)
    """

    information: TracedFunction
    prior_precision: Any

    def __init__(self, information: Any, prior_precision: Any = 0.0) -> None:
        object.__setattr__(self, "information", TracedFunction("information", information))
        object.__setattr__(self, "prior_precision", _precision_from(prior_precision))

    @staticmethod
    def gaussian(mean: Any, *, noise_sd: Any = 1.0, prior_precision: Any = 0.0) -> "GaussNewtonFisher":
        """The metric of yᵢ ~ N(mean(x)ᵢ, noise_sdᵢ²): G = JᵀJ + P, with J the Jacobian of mean(x)/noise_sd.

        Args:
            mean: from the flat vector of parameters to the means of all observations, written with jax.numpy.
            noise_sd: standard deviations of the observations, all above 0: one number, or one an observation.
            prior_precision: P, as for `Fisher`.

        Example:
            >>> times = jnp.linspace(0.0, 1.0, 5)
            >>> metric = mp.Fisher.gaussian(lambda x: x[0] * jnp.exp(-x[1] * times), noise_sd=0.1, prior_precision=1.0)
        """
        if not callable(mean):
            raise MetricError(f"mean must be a function of a flat vector; it is {mean!r}.")
        try:
            sd = np.asarray(noise_sd, float)
        except (TypeError, ValueError) as error:
            raise MetricError(f"noise_sd must be numbers; it is {noise_sd!r}.") from error
        if not (np.isfinite(sd) & (sd > 0)).all():
            raise MetricError("noise_sd must be above 0 and finite for every observation.")
        return GaussNewtonFisher(lambda x: jnp.ravel(mean(x) / sd), prior_precision)

    @staticmethod
    def logistic(design: Any, *, prior_variance: Any = 100.0) -> "GaussNewtonFisher":
        """The metric of logistic regression: G = XᵀΛX + I/prior_variance with Λ = diag(p(1 − p)).

        Args:
            design: X, N × D, as for `targets.logistic_regression`.
            prior_variance: of every coefficient.

        Example:
            >>> data = mp.datasets.load("heart")
            >>> metric = mp.Fisher.logistic(data.design)
        """
        try:
            matrix = np.asarray(design, float)
        except (TypeError, ValueError) as error:
            raise MetricError(f"design must be a matrix of numbers; it is {design!r}.") from error
        if matrix.ndim != 2 or not np.isfinite(matrix).all():
            raise MetricError(f"design must be an N × D matrix of finite numbers; its shape is {matrix.shape}.")
        features = jnp.asarray(matrix)
        precision = 1.0 / positive_number("prior_variance", prior_variance, error=MetricError)

        def stabilised(beta: Vector) -> AnyVector:
            # Its derivative in the logit is √(p(1 − p)): the mean on the scale where its noise is 1 everywhere.
            return 2.0 * jnp.arctan(jnp.tanh(0.25 * dot(features, beta)))

        return GaussNewtonFisher(stabilised, precision)

    def check(self, dimension: int) -> None:
        """Raise `MetricError` unless information and prior are D × D."""
        check_square(self.information, dimension)
        _check_precision(self.prior_precision, dimension)

    def matrix(self, logdensity: LogDensity, position: Vector) -> Matrix:
        """I(x) + P."""
        return symmetric(self.information(position)) + _as_matrix(self.prior_precision, position)


@pytree
@dataclass(frozen=True, init=False)
class GaussNewtonFisher(DenseMetric):
    """G = JᵀJ + P with J the Jacobian of a map f from parameters to means whose noise has variance 1.

    Ω̃(v) = Jᵀ J̇(v), with J̇ the derivative of J along v: no matrix of G's size is ever differentiated.

    Args:
        means: f, from the flat vector of parameters to a vector of any length.
        prior_precision: P, as for `Fisher`.
    """

    means: TracedFunction
    prior_precision: Any

    def __init__(self, means: Any, prior_precision: Any = 0.0) -> None:
        object.__setattr__(self, "means", TracedFunction("mean", means))
        object.__setattr__(self, "prior_precision", _precision_from(prior_precision))

    def check(self, dimension: int) -> None:
        """Raise `MetricError` unless means are a vector and the prior is D × D."""
        if len(self.means.shape(dimension)) != 1:
            raise MetricError(f"mean must return a vector; its shape is {self.means.shape(dimension)}.")
        _check_precision(self.prior_precision, dimension)

    def cost(self, dimension: int) -> Cost:
        """The Jacobian and its derivatives count as the products that they are made from."""
        products = min(dimension, *self.means.shape(dimension))
        return Cost(point=1 + products, slope=products, revisit=products, bend=products, volume_bends=1, force=2)

    def jacobian(self, position: Vector) -> Jacobian:
        """J, of shape (observations, D), from the fewer of forward and reverse products."""
        (observations,) = self.means.shape(position.size)
        jacobian_of = jax.jacfwd if position.size <= observations else jax.jacrev
        return jacobian_of(self.means)(position)

    def matrix(self, logdensity: LogDensity, position: Vector) -> Matrix:
        """JᵀJ + P."""
        jacobian = self.jacobian(position)
        return dot(jacobian.T, jacobian) + _as_matrix(self.prior_precision, position)

    def square(self, logdensity: LogDensity, position: Vector, velocity: Vector) -> Scalar:
        """|Jv|² + vᵀPv, from one product."""
        along = jax.jvp(self.means, (position,), (velocity,))[1]
        return dot(along, along) + dot(velocity, dot(_as_matrix(self.prior_precision, position), velocity))

    def omega(self, logdensity: LogDensity, position: Vector, velocity: Vector) -> Matrix:
        """Jᵀ J̇(v)."""
        jacobian, change = jax.jvp(self.jacobian, (position,), (velocity,))
        return dot(jacobian.T, change)


def _precision_from(value: Any) -> jax.Array:
    try:
        precision = jnp.asarray(value, jnp.result_type(float))
    except (TypeError, ValueError) as error:
        raise MetricError(f"prior_precision must be numbers; it is {value!r}.") from error
    if precision.ndim > 2:
        raise MetricError(
            f"prior_precision must be one number, a vector of D or a D × D matrix; its shape is {precision.shape}."
        )
    if is_concrete(precision):
        if not jnp.isfinite(precision).all() or (precision.ndim < 2 and (precision < 0).any()):
            raise MetricError("prior_precision must be finite and not negative.")
        if precision.ndim == 2:
            if not np.allclose(precision, precision.T):
                raise MetricError("prior_precision must be symmetric.")
            if np.linalg.eigvalsh(np.asarray(precision))[0] < -1e-6 * np.abs(precision).max():
                raise MetricError("prior_precision must not have negative eigenvalues.")
    return precision


def _check_precision(precision: jax.Array, dimension: int) -> None:
    if precision.shape not in ((), (dimension,), (dimension, dimension)):
        raise MetricError(
            f"prior_precision has shape {precision.shape}, but the target has {dimension} parameters: its shape must "
            f"be (), {(dimension,)} or {(dimension, dimension)}."
        )


def _as_matrix(precision: jax.Array, position: Vector) -> Matrix:
    return precision if precision.ndim == 2 else jnp.diag(jnp.broadcast_to(precision, position.shape))
