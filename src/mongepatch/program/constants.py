"""Operations on a few constants, which JAX would have to compile one by one, in NumPy."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_IN_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "square": np.square,
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "reshape": lambda value: value,
    "convert_element_type": lambda value: value,
}
"""By the names of JAX's primitives. Shape and precision of the result are given to it afterwards."""


def in_numpy(name: str, values: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
    """The result of an operation on constants; None where it is not one of these, or some are no arrays of NumPy."""
    if name not in _IN_NUMPY or not all(isinstance(value, np.ndarray | np.generic) for value in values):
        return None
    with np.errstate(all="ignore"):  # infinities and NaN are results as others, as in JAX
        return np.asarray(_IN_NUMPY[name](*values)).astype(dtype).reshape(shape)
