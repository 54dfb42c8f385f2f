"""Operations on a few constants, which JAX would have to compile one by one, in NumPy."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mongepatch.program.windows import block_at, gathered_places

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
    "max": np.maximum,
    "min": np.minimum,
    "sign": np.sign,
    "select_n": lambda which, *cases: np.where(which, cases[-1], cases[0]) if len(cases) < 3 else None,
    "reshape": lambda value: value,
    "squeeze": lambda value: value,
    "convert_element_type": lambda value: value,
}
"""By the names of JAX's primitives. Shape and precision of the result are given to it afterwards."""


def _iota(params: Mapping[str, Any]) -> np.ndarray:
    shape, along = params["shape"], params["dimension"]
    numbers = np.arange(shape[along]).reshape([-1 if axis == along else 1 for axis in range(len(shape))])
    return np.broadcast_to(numbers, shape)


def _broadcast(params: Mapping[str, Any], value: np.ndarray) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for axis, size in zip(params["broadcast_dimensions"], value.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(value.reshape(shape), params["shape"])


def _slice(params: Mapping[str, Any], value: np.ndarray) -> np.ndarray:
    strides = params["strides"] or (1,) * value.ndim
    return value[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))]


def _dynamic_slice(params: Mapping[str, Any], value: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    return value[block_at(starts, value.shape, params["slice_sizes"])]


def _pad(params: Mapping[str, Any], value: np.ndarray, filling: np.ndarray) -> np.ndarray | None:
    config = params["padding_config"]
    if min(min(low, high) for low, high, _ in config) < 0:
        return None
    between = [max(0, size - 1) * inside for size, (_, _, inside) in zip(value.shape, config, strict=True)]
    sizes = [low + size + gaps + high for size, gaps, (low, high, _) in zip(value.shape, between, config, strict=True)]
    padded = np.full(sizes, filling, value.dtype)
    spans = [(low, low + size + gaps) for size, gaps, (low, _, _) in zip(value.shape, between, config, strict=True)]
    steps = [inside + 1 for _, _, inside in config]
    padded[tuple(slice(first, last, step) for (first, last), step in zip(spans, steps, strict=True))] = value
    return padded


def _cumsum(params: Mapping[str, Any], value: np.ndarray) -> np.ndarray:
    axis, reverse = params["axis"], params["reverse"]
    return np.flip(np.cumsum(np.flip(value, axis), axis), axis) if reverse else np.cumsum(value, axis)


def _gather(params: Mapping[str, Any], value: np.ndarray, starts: np.ndarray) -> np.ndarray | None:
    places = gathered_places(params, value.shape, starts)
    # What is read outside of an array depends on the mode of the operation.
    return value.reshape(-1)[places] if (places >= 0).all() else None


_WITH_PARAMETERS: dict[str, Callable[..., Any]] = {
    "iota": _iota,
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda params, *values: np.concatenate(values, params["dimension"]),
    "transpose": lambda params, value: np.transpose(value, params["permutation"]),
    "rev": lambda params, value: np.flip(value, params["dimensions"]),
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "pad": _pad,
    "cumsum": _cumsum,
    "gather": _gather,
}
"""The same, for operations with parameters of their own."""


def in_numpy(
    name: str, values: Sequence[Any], shape: tuple[int, ...], dtype: Any, params: Mapping[str, Any] | None = None
) -> np.ndarray | None:
    """The result of an operation on constants; None where it is not one of these, or some are no arrays of NumPy.

    Args:
        name: of the operation.
        values: what it is done to.
        shape: of the result.
        dtype: of the result.
        params: parameters of the operation; without them, only operations that have none are done.
    """
    with_parameters = params is not None and name in _WITH_PARAMETERS
    known = name in _IN_NUMPY or with_parameters
    if not known or not all(isinstance(value, np.ndarray | np.generic) for value in values):
        return None
    with np.errstate(all="ignore"):  # infinities and NaN are results as others, as in JAX
        found = _WITH_PARAMETERS[name](params, *values) if with_parameters else _IN_NUMPY[name](*values)
        return None if found is None else np.asarray(found).astype(dtype).reshape(shape)
