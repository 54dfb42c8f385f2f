"""The variables of a result, from the flat positions of all draws."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import near_host, on_host
from mongepatch._typing import Vector
from mongepatch.program import Program, entries_read, jit, trace
from mongepatch.targets import Target

_BYTES = 64 * 2**20
"""How much the variables of the draws that are made at once may take."""
_ROWS = 500
"""Draws whose variables are made at once where their size is not known beforehand."""


def kept_columns(target: Target, keep: Collection[str] | None) -> np.ndarray | None:
    """The entries of a flat position that variables of these names need; None for all."""
    if keep is None:
        return None
    if target.constrain is None:
        return np.flatnonzero(target.layout.mask(keep))
    position = jax.ShapeDtypeStruct((target.dimension,), jnp.result_type(float))
    columns = entries_read(trace(_constrained(target.constrain, keep), position)[0])
    return columns if 0 < len(columns) < target.dimension else None


def variables(positions: np.ndarray, target: Target, keep: Collection[str] | None = None) -> dict[str, Any]:
    """Arrays by name, with the leading axes of the positions: parts of the vectors, or what the target makes of it.

    Args:
        positions: flat positions; of them, the `kept_columns`.
        target: says what they mean.
        keep: names of the variables to make; by default all.
    """
    constrain = target.constrain
    if constrain is None:
        layout = target.layout if keep is None else target.layout.only(keep)
        return layout.named(positions)
    rows = positions.reshape(-1, positions.shape[-1])
    if hasattr(constrain, "at_rows"):
        return _at_rows(constrain.at_rows, positions, keep)
    of_position, columns = _constrained(constrain, keep), kept_columns(target, keep)

    def kept_variables(part: Vector) -> dict[str, jax.Array]:
        if part.size == target.dimension:
            return of_position(part)
        return of_position(jnp.zeros(target.dimension, part.dtype).at[columns].set(part))

    program, shapes = trace(kept_variables, jax.ShapeDtypeStruct(positions.shape[-1:], positions.dtype))
    size = sum(shape.size * shape.dtype.itemsize for shape in shapes.values())
    count = min(len(rows), max(1, _BYTES // size))
    if count == len(rows):
        kept = on_host(near_host(_at(program, rows)))
    else:
        kept = {name: np.empty((len(rows), *shape.shape), shape.dtype) for name, shape in shapes.items()}
        for first in range(0, len(rows), count):
            chunk = rows[first : first + count]
            filled = np.resize(chunk, (count, rows.shape[1]))  # so that one program serves all
            for name, values in jax.device_get(_at(program, filled)).items():
                kept[name][first : first + count] = values[: len(chunk)]
    return {name: values.reshape(*positions.shape[:-1], *values.shape[1:]) for name, values in kept.items()}


def _at_rows(
    at_rows: Callable[[np.ndarray], dict[str, np.ndarray]], positions: np.ndarray, keep: Collection[str] | None
) -> dict[str, Any]:
    """The same by a function of rows, for some of them at a time, since only a few of its variables may be kept."""
    rows = positions.reshape(-1, positions.shape[-1])
    parts = []
    for first in range(0, len(rows), _ROWS):
        made = at_rows(rows[first : first + _ROWS])
        parts.append({name: values for name, values in made.items() if keep is None or name in keep})
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {name: values.reshape(*positions.shape[:-1], *values.shape[1:]) for name, values in whole.items()}


def _constrained(
    constrain: Callable[[Vector], dict[str, jax.Array]], keep: Collection[str] | None
) -> Callable[[Vector], dict[str, jax.Array]]:
    """The variables of these names, of a flat position."""
    return lambda position: {name: value for name, value in constrain(position).items() if keep is None or name in keep}


@partial(jit, quick=True)
def _at(program: Program, rows: jax.Array) -> dict[str, jax.Array]:
    made: dict[str, jax.Array] = jax.vmap(program)(rows)
    return made
