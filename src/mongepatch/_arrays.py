"""Arrays that are brought to the device without compiling anything, and back without waiting for memory."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

_PINNED = "pinned_host"
"""What JAX calls memory of the host that a device can write to by itself."""
_THREADS, _FEW_BYTES = 4, 2**24
"""Threads that copy, and bytes below which it takes no longer without them."""


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


def near_host(tree: Any) -> Any:
    """The arrays of a pytree in memory that the host can read. Copies of those of an accelerator begin, and go on.

    Such memory is pinned, which makes copies ten times as fast, and there is little of it: `on_host` copies from it.
    """
    return jax.tree.map(_near_host, tree)


def _near_host(array: jax.Array) -> jax.Array:
    device = next(iter(array.devices()))
    if device.platform == "cpu" or _PINNED not in {memory.kind for memory in device.addressable_memories()}:
        return array
    return jax.device_put(array, array.sharding.with_memory_kind(_PINNED))


def on_host(tree: Any, part: Any = ...) -> Any:
    """Copies of the arrays of a pytree, or of the part at an index of each, in NumPy; they may be written to."""
    leaves, structure = jax.tree.flatten(tree)
    size = sum(leaf.nbytes for leaf in leaves)
    return jax.tree.unflatten(structure, in_threads(lambda leaf: np.array(np.asarray(leaf)[part]), leaves, size))


def in_threads(function: Callable[[Any], np.ndarray], items: Sequence[Any], size: int) -> list[np.ndarray]:
    """The arrays that a function makes of each item; by a few threads, where there are many bytes.

    NumPy copies without Python's lock. Most of the time of a large copy goes by until new memory is there, which one
    thread waits for as long as many chains draw.
    """
    if size < _FEW_BYTES:
        return [function(item) for item in items]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(function, items))
