"""Log densities that the models share, summed over their first argument, up to constants."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import Scalar


def floats(values: Any) -> jax.Array:
    """An array of the data in the precision of the run; integers too, so that arithmetic is of one kind."""
    return jnp.asarray(np.asarray(values, float))


def normal(x: jax.Array, mean: Any, sd: Any) -> Scalar:
    """Normal in its mean and standard deviation."""
    return jnp.sum(-0.5 * ((x - mean) / sd) ** 2 - jnp.log(sd))


def lognormal(x: jax.Array, log_median: Any, sd: Any) -> Scalar:
    """Lognormal in the median's logarithm and the standard deviation of the logarithm."""
    return normal(jnp.log(x), log_median, sd) - jnp.sum(jnp.log(x))


def cauchy(x: jax.Array, scale: float) -> Scalar:
    """Cauchy about 0."""
    return -jnp.sum(jnp.log1p((x / scale) ** 2))


def student_t(x: jax.Array, degrees: float, centre: float, scale: float) -> Scalar:
    """Student's t."""
    return -0.5 * (degrees + 1.0) * jnp.sum(jnp.log1p(((x - centre) / scale) ** 2 / degrees))
