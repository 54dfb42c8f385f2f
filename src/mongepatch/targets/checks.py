"""Refusals of log densities that cannot be sampled, before anything is compiled."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.errors import ConcretizationTypeError, TracerArrayConversionError, TracerBoolConversionError

from mongepatch._typing import LogDensity
from mongepatch.errors import LogDensityError

_NOT_JAX = (ConcretizationTypeError, TracerArrayConversionError, TracerBoolConversionError)


def check_density(logdensity: LogDensity, position: jax.ShapeDtypeStruct) -> None:
    """Raise unless the log density is one real number with a gradient that JAX can derive."""
    try:
        value: Any = jax.eval_shape(logdensity, position)
    except _NOT_JAX as error:
        raise LogDensityError(
            "The log density is not differentiable by JAX: it turns its parameters into NumPy arrays or branches on "
            "their values. Write it with jax.numpy, and jnp.where or jax.lax.cond in place of if."
        ) from error
    except Exception as error:
        raise LogDensityError(f"The log density failed at the starting point's shapes: {error}") from error
    if not isinstance(value, jax.ShapeDtypeStruct):
        raise LogDensityError(f"The log density must return one number; it returns a {type(value).__name__}.")
    if value.shape != ():
        raise LogDensityError(
            f"The log density must return one number; it returns an array of shape {value.shape}. "
            "Sum over observations and parameters: .sum()."
        )
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise LogDensityError(f"The log density must return a real number; it returns {value.dtype}.")


def check_differentiable(geometry: Any, position: jax.ShapeDtypeStruct) -> None:
    """Raise unless `geometry`, a metric at a position, can be derived by JAX."""
    try:
        jax.eval_shape(geometry, position)
    except Exception as error:
        raise LogDensityError(
            f"The log density is not differentiable by JAX as often as the metric needs: {error} "
            "Loops of unknown length (jax.lax.while_loop) and callbacks have no derivative: use jax.lax.scan, or give "
            "them one with jax.custom_jvp."
        ) from error
