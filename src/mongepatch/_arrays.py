"""Arrays that are brought to the device without compiling anything, and back without copying them twice."""

from typing import Any

import jax
import numpy as np


def on_device(values: Any, dtype: Any = None) -> jax.Array:
    """Values as an array on the device, a copy of what NumPy or Python holds.

    `jax.numpy` compiles a program for every shape that it converts or fills: each takes as long as a thousand copies.
    """
    if isinstance(values, jax.Array):
        return values if dtype is None or values.dtype == dtype else values.astype(dtype)
    return jax.device_put(np.array(values, dtype))


def is_on_accelerator(array: jax.Array) -> bool:
    """Whether its memory is not the host's."""
    return next(iter(array.devices())).platform != "cpu"


def on_host(tree: Any) -> Any:
    """Copies of the arrays of a pytree, which may be written to. All copies from a device begin at once.

    JAX forbids to write to its copies of arrays of an accelerator, since others may hold them. Nobody holds those of
    arrays that are not used again, and to copy them once more would touch as much new memory: for many chains that
    takes as long as their draws.
    """
    return jax.tree.map(_writable, tree, jax.device_get(tree))


def _writable(array: jax.Array, copied: np.ndarray) -> np.ndarray:
    return np.asarray(_Writable(copied)) if is_on_accelerator(array) else np.array(copied)


class _Writable:
    """Memory that NumPy may write to, as its array interface says."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array  # the owner of the memory
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = array.__array_interface__ | {"data": (address, False)}
