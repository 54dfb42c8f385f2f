"""Which elements of an array operations read and write, in NumPy: JAX would compile a program to say so."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode


def gathered_places(params: Mapping[str, Any], shape: Sequence[int], starts: np.ndarray) -> np.ndarray:
    """For each element of a gather's result the number of the element that it is; −1 outside of the array.

    Args:
        params: of the operation.
        shape: of the array.
        starts: indices at which windows of the array begin.
    """
    numbers = params["dimension_numbers"]
    places = _places(
        shape,
        starts,
        params["slice_sizes"],
        numbers.start_index_map,
        dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)),
        clip=params["mode"] == GatherScatterMode.CLIP,
    )
    return _in_order(
        places, starts, (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims), numbers.offset_dims
    )


def scattered_places(
    params: Mapping[str, Any], shape: Sequence[int], starts: np.ndarray, updates: Sequence[int]
) -> np.ndarray:
    """For each element of a scatter's updates the number of the element that it changes; −1 outside of the array.

    Args:
        params: of the operation.
        shape: of the array.
        starts: indices at which windows of the array begin.
        updates: the shape of what is put there.
    """
    numbers = params["dimension_numbers"]
    single = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    sizes = iter(updates[axis] for axis in numbers.update_window_dims)
    places = _places(
        shape,
        starts,
        [1 if axis in single else next(sizes) for axis in range(len(shape))],
        numbers.scatter_dims_to_operand_dims,
        dict(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)),
        clip=params["mode"] == GatherScatterMode.CLIP,
    )
    return _in_order(places, starts, single, numbers.update_window_dims)


def block_at(starts: Sequence[Any], shape: Sequence[int], sizes: Sequence[int]) -> tuple[slice, ...]:
    """The block of an array that `dynamic_slice` reads: one that would reach past the end begins sooner."""
    limits = (whole - size for whole, size in zip(shape, sizes, strict=True))
    first = [min(max(int(start), 0), limit) for start, limit in zip(starts, limits, strict=True)]
    return tuple(slice(start, start + size) for start, size in zip(first, sizes, strict=True))


def _places(
    shape: Sequence[int],
    starts: np.ndarray,
    sizes: Sequence[int],
    axes: Sequence[int],
    batching: Mapping[int, int],
    *,
    clip: bool,
) -> np.ndarray:
    """Numbers of the elements of all windows, [*starts without the last axis, *sizes], −1 in windows that lie outside.

    Args:
        shape: of the array.
        starts: [..., one for each of `axes`].
        sizes: of a window, along each axis of the array.
        axes: of the array, that starts are along.
        batching: axes of the array along which windows begin at the place of their start, along that axis of starts.
        clip: whether a window that lies outside begins at the nearest place where it does not.
    """
    batch = starts.shape[:-1]
    places, inside = np.zeros((*batch, *(1 for _ in shape)), int), np.ones(batch, bool)
    for axis, (whole, size) in enumerate(zip(shape, sizes, strict=True)):
        first = np.zeros(batch, int)
        if axis in axes:
            first = starts[..., list(axes).index(axis)].astype(int)
        elif axis in batching:
            first = first + np.arange(whole).reshape(
                [-1 if along == batching[axis] else 1 for along in range(len(batch))]
            )
        first = np.clip(first, 0, whole - size) if clip else first
        inside &= (first >= 0) & (first <= whole - size)
        within = np.arange(size).reshape([-1 if other == axis else 1 for other in range(len(shape))])
        places = places * whole + first.reshape((*batch, *(1 for _ in shape))) + within
    return np.where(inside.reshape((*batch, *(1 for _ in shape))), places, -1)


def _in_order(places: np.ndarray, starts: np.ndarray, single: Sequence[int], windows: Sequence[int]) -> np.ndarray:
    """Places without the axes along which windows have one element, the others where the operation has them."""
    batch = starts.ndim - 1
    left = np.squeeze(places, tuple(batch + axis for axis in single))
    return np.moveaxis(left, range(batch, left.ndim), windows)
