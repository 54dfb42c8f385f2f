"""Bayesian logistic regression on any design matrix."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._pytree import is_concrete
from mongepatch._typing import LogDensity, PRNGKey, Scalar, Vector
from mongepatch.errors import SettingError
from mongepatch.targets.base import Target
from mongepatch.targets.bernoulli import bernoulli_log_likelihood
from mongepatch.targets.layout import Layout
from mongepatch.validation import positive_number

_ENTRIES, _MOST_BLOCKS = 2**21, 64
"""Entries of a matrix that are multiplied at once on CPUs, and the most blocks that a matrix is cut into. For a
gradient of several chains XLA copies the matrix, and the system zeroes the memory of a larger copy anew each time,
which takes longer than the product."""


def logistic_regression(
    design: Any, outcomes: Any, *, prior_variance: float = 100.0, columns: Sequence[str] | None = None
) -> Target:
    """yᵢ ~ Bernoulli(logit⁻¹(xᵢ·β)) with β ~ N(0, prior_variance · I); the prior is the paper's.

    Args:
        design: N × D, used as it is: see `standardized_design` for the paper's scaling and intercept.
        outcomes: N zeros and ones.
        prior_variance: of every coefficient.
        columns: names of the D columns, for the result.

    Example:
        >>> design = mp.targets.standardized_design([[0.0], [1.0], [2.0], [3.0]])
        >>> target = mp.targets.logistic_regression(design, [0, 0, 1, 1])
    """
    positive_number("prior_variance", prior_variance)
    dtype = jnp.result_type(float)
    matrix, labels = np.asarray(design, dtype), np.asarray(outcomes, dtype)
    if matrix.ndim != 2 or labels.shape != matrix.shape[:1]:
        raise SettingError(
            f"design must be N × D and outcomes of length N; their shapes are {matrix.shape} and {labels.shape}."
        )
    if not np.isfinite(matrix).all():
        raise SettingError("design has entries that are not finite.")
    if not np.isin(labels, (0.0, 1.0)).all():
        raise SettingError("outcomes must be 0 or 1.")
    if columns is not None and len(columns) != matrix.shape[1]:
        raise SettingError(f"columns must name the {matrix.shape[1]} columns of design; it has {len(columns)} names.")
    dimension = matrix.shape[1]
    is_known = jax.default_backend() != "cpu" and is_concrete(prior_variance)
    make = _with_kernels if is_known else _in_jax
    logdensity = make(matrix, 2.0 * labels - 1.0, prior_variance)

    def start(key: PRNGKey) -> Vector:
        return jax.random.uniform(key, (dimension,), dtype, -0.5, 0.5)

    layout = Layout(("beta",), ((dimension,),))
    coords = {} if columns is None else {"column": list(columns)}
    return Target(logdensity, layout, start, dims={"beta": ["column"]}, coords=coords)


def _in_jax(matrix: np.ndarray, signs: np.ndarray, prior_variance: Any) -> LogDensity:
    """The log density, on CPUs by parts of the design matrix, which are multiplied one after another."""
    count = min(_MOST_BLOCKS, max(1, -(-matrix.size // _ENTRIES))) if jax.default_backend() == "cpu" else 1
    # Vectors times a D × N matrix run fastest on CPUs, both ways of the differentiation and batched over chains.
    blocks = [
        (jnp.asarray(part.T.copy()), jnp.asarray(own))
        for part, own in zip(np.array_split(matrix, count), np.array_split(signs, count), strict=True)
    ]

    def of_block(beta: Vector, features: jax.Array, signs: jax.Array) -> Scalar:
        return bernoulli_log_likelihood(beta @ features, signs)

    def logdensity(beta: Vector) -> Scalar:
        return reduce(add, (of_block(beta, *block) for block in blocks)) - 0.5 * beta @ beta / prior_variance

    return logdensity


def _with_kernels(matrix: np.ndarray, signs: np.ndarray, prior_variance: Any) -> LogDensity:
    """The log density as operations that GPUs have kernels for."""
    from mongepatch.targets.logistic_primitives import log_density  # loads parts of JAX that others do without

    features, precision = jnp.asarray(signs[:, None] * matrix), 1.0 / float(prior_variance)

    def logdensity(beta: Vector) -> Scalar:
        return log_density(beta, features, precision)

    return logdensity


def standardized_design(features: Any) -> np.ndarray:
    """The paper's design matrix: columns scaled to mean 0 and standard deviation 1 (ddof = 1), ones put first.

    Example:
        >>> mp.targets.standardized_design([[1.0], [2.0], [3.0]]).shape
        (3, 2)
    """
    matrix = np.asarray(features, float)
    if matrix.ndim != 2 or matrix.shape[0] < 2:
        raise SettingError(f"features must be N × D with N at least 2; its shape is {matrix.shape}.")
    sd = matrix.std(axis=0, ddof=1)
    if not (sd > 0).all():
        raise SettingError(f"columns {np.flatnonzero(sd == 0).tolist()} of features are constant: leave them out.")
    return np.column_stack([np.ones(len(matrix)), (matrix - matrix.mean(axis=0)) / sd])
