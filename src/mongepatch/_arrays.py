"""Arrays that are brought to the device without compiling anything."""

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
