"""Log densities as programs: what is no log density is refused here."""

import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity
from mongepatch.errors import LogDensityError
from mongepatch.program.program import Program, trace
from mongepatch.program.untraceable import UNTRACEABLE, WRITE_IT_WITH_JAX


def trace_density(logdensity: LogDensity, position: jax.ShapeDtypeStruct) -> Program:
    """The program of a log density of flat vectors, or a refusal of what is none."""
    program, value = _attempt(lambda: trace(logdensity, position))
    _check_value(value)
    return program


def check_density(logdensity: LogDensity, position: Any) -> None:
    """Raise unless the log density of a flat vector is one real number that JAX can trace."""
    _check_value(_attempt(lambda: jax.eval_shape(lambda x: logdensity(x), position)))


def _attempt(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except UNTRACEABLE as error:
        raise LogDensityError(
            "The log density is not differentiable by JAX: it turns its parameters into NumPy arrays or branches on "
            f"their values. {WRITE_IT_WITH_JAX}"
        ) from error
    except Exception as error:
        if _is_of_numpyro(error):
            raise LogDensityError(
                "This is a NumPyro model, and no function to a log density: give mp.from_numpyro(model, *data)."
            ) from error
        raise LogDensityError(
            f"The log density failed at the starting point's shapes: {type(error).__name__}: {error}{_hint(error)}"
        ) from error


def _is_of_numpyro(error: Exception) -> bool:
    """Whether NumPyro refused a statement because the model runs outside of its own functions, which call it."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__) if _is_of_primitives(frame)]
    return bool(codes) and not any(code.co_name == "__call__" for code in codes)


def _is_of_primitives(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == "numpyro.primitives"


def _hint(error: Exception) -> str:
    if isinstance(error, TypeError) and "required positional argument" in str(error):
        return ". It is called with one argument, all parameters: write lambda p: … p['mu'] … p['sigma'] …"
    return ""


def _check_value(value: Any) -> None:
    if not isinstance(value, jax.ShapeDtypeStruct):
        raise LogDensityError(f"The log density must return one number; it returns a {type(value).__name__}.")
    if value.shape != ():
        raise LogDensityError(
            f"The log density must return one number; it returns an array of shape {value.shape}. "
            "Sum over observations and parameters: .sum()."
        )
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise LogDensityError(f"The log density must return a real number; it returns {value.dtype}.")
