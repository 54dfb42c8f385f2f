"""A function of one draw at many draws, some of them at once."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from mongepatch._arrays import on_device
from mongepatch.program.compiling import jit

_BYTES = 64 * 2**20
"""How much the values at the rows that are computed at once may take."""


def map_rows(function: Callable[[Any], Any], rows: Any) -> Any:
    """The values of a function at the rows of a pytree of arrays, as NumPy arrays with a leading axis for rows.

    Args:
        function: from a pytree of arrays to another.
        rows: the same pytree, in which arrays have a leading axis.
    """
    total = len(jax.tree.leaves(rows)[0])
    one = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape[1:], _dtype(array)), rows)
    shapes = jax.eval_shape(function, one)
    size = sum(shape.size * shape.dtype.itemsize for shape in jax.tree.leaves(shapes))
    count = min(total, max(1, _BYTES // max(1, size)))
    made = jax.tree.map(lambda shape: np.empty((total, *shape.shape), shape.dtype), shapes)
    compiled = jit(jax.vmap(function), quick=True)
    for first in range(0, total, count):
        last = min(first + count, total)

        def filled(array: Any, first: int = first, last: int = last) -> jax.Array:
            return on_device(np.resize(array[first:last], (count, *array.shape[1:])))  # one program serves all

        def place(whole: np.ndarray, part: Any, first: int = first, last: int = last) -> None:
            whole[first:last] = part[: last - first]

        jax.tree.map(place, made, compiled(jax.tree.map(filled, rows)))
    return made


def _dtype(array: Any) -> Any:
    return jax.dtypes.canonicalize_dtype(array.dtype)
