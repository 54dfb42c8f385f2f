"""Checks of numbers that users set, each with a sentence that says what to change."""

import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._pytree import is_concrete
from mongepatch._typing import Scalar
from mongepatch.errors import MongepatchError, SettingError


def whole_number(name: str, value: Any, *, least: int = 1) -> int:
    """An integer of at least `least`."""
    try:
        count = operator.index(value)
    except TypeError as error:
        instead = f": write {int(value)}" if isinstance(value, float) and value.is_integer() else ""
        raise SettingError(f"{name} must be an integer; it is {value!r}{instead}.") from error
    if count < least:
        raise SettingError(f"{name} must be at least {least}; it is {count}.")
    return count


def real_number(name: str, value: Any, *, error: type[MongepatchError] = SettingError) -> Scalar:
    """One finite number, as an array; a traced one is not checked."""
    try:
        kind = value.dtype if isinstance(value, jax.Array) else np.asarray(value).dtype
        if not (jnp.issubdtype(kind, jnp.number) or jnp.issubdtype(kind, np.bool_)):
            raise TypeError(f"{type(value).__name__} is no number")
        number = on_device(value, jnp.result_type(float))
    except (TypeError, ValueError) as cause:
        raise error(f"{name} must be a number; it is {value!r}.") from cause
    if number.ndim != 0:
        raise error(f"{name} must be one number; its shape is {number.shape}.")
    if is_concrete(number) and not math.isfinite(number):  # jnp would make it a traced one
        raise error(f"{name} must be finite; it is {value}.")
    return number


def positive_number(name: str, value: Any, *, error: type[MongepatchError] = SettingError) -> Scalar:
    """One finite number above 0."""
    number = real_number(name, value, error=error)
    if is_concrete(number) and not float(number) > 0:
        raise error(f"{name} must be above 0; it is {value}.")
    return number


def number_at_least_zero(name: str, value: Any, *, error: type[MongepatchError] = SettingError) -> Scalar:
    """One finite number that is not negative."""
    number = real_number(name, value, error=error)
    if is_concrete(number) and not float(number) >= 0:
        raise error(f"{name} must be at least 0; it is {value}.")
    return number


def fraction(name: str, value: Any) -> float:
    """One number between 0 and 1, both excluded."""
    number = float(real_number(name, value))
    if not 0 < number < 1:
        raise SettingError(f"{name} must be between 0 and 1; it is {value}.")
    return number
