"""Checks of numbers that users set, each with a sentence that says what to change."""

import operator
from typing import Any

import jax.numpy as jnp

from mongepatch._pytree import is_concrete
from mongepatch.errors import SettingError


def positive_count(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    try:
        count = operator.index(value)
    except TypeError as error:
        raise SettingError(f"{name} must be a whole number; it is {value!r}.") from error
    if count < least:
        raise SettingError(f"{name} must be at least {least}; it is {count}.")
    return count


def positive_step(value: Any) -> Any:
    """A finite step size above 0; a tracer passes unseen."""
    step = jnp.asarray(value, jnp.result_type(float))
    if step.ndim != 0:
        raise SettingError(f"step_size must be one number; its shape is {step.shape}.")
    if is_concrete(step) and not (jnp.isfinite(step) and step > 0):
        raise SettingError(f"step_size must be finite and above 0; it is {float(step)}.")
    return step
