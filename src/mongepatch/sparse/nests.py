"""Places in nested arithmetic progressions, which are slices, repeats and reshapes instead of gathers.

A gather reads one element at a time, and its derivative in reverse is a scatter, which is slower still. Places that are
known beforehand are mostly regular: all groups of a hierarchy, every other step of a random walk, one mean for all.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector

_FEW = 24
"""Nests up to which all of them are used, however small."""

_LARGE = 32
"""Tuples from which on a nest is used where there are many nests."""


class Nest(NamedTuple):
    """Tuples of places, one place for each of several vectors: starts + Σ index · strides over all axes."""

    starts: tuple[int, ...]
    """One for each vector."""
    sizes: tuple[int, ...]
    """One for each axis."""
    strides: tuple[tuple[int, ...], ...]
    """One for each axis and vector."""

    def along(self, vector: int) -> tuple[int, ...]:
        """Strides of all axes in one vector."""
        return tuple(strides[vector] for strides in self.strides)

    @property
    def terms(self) -> int:
        """How many tuples there are."""
        return int(np.prod(self.sizes, dtype=int))


def find_nests(places: np.ndarray) -> tuple[list[Nest], np.ndarray]:
    """The tuples [count, vectors] as nests, and the numbers of those that are too irregular for it."""
    found = _repeats(_repeats(_progressions(places)))
    irregular = np.zeros(len(places), bool)
    if len(found) > _FEW:
        ends = np.cumsum([nest.terms for nest in found]).tolist()
        order = sorted(range(len(found)), key=lambda number: -found[number].terms)[:_FEW]
        kept = sorted(number for number in order if found[number].terms >= _LARGE)
        irregular[:] = True
        for number in kept:
            irregular[ends[number] - found[number].terms : ends[number]] = False
        found = [found[number] for number in kept]
    return [part for nest in found for part in _separated(nest)], np.flatnonzero(irregular)


def _progressions(places: np.ndarray) -> list[Nest]:
    """Runs with equal differences, as long as they go, from the first tuple on."""
    count = len(places)
    if count == 0:
        return []
    steps = np.diff(places, axis=0)
    cuts = np.flatnonzero((steps[1:] != steps[:-1]).any(1)) + 1
    stops = [*cuts.tolist(), count - 1]  # the last tuple of each block of equal differences
    runs: list[Nest] = []
    at = 0
    for number, stop in enumerate(stops):
        if stop <= at:
            continue
        if stop == at + 1 and count > 2:
            # A pair is one where pairs alternate. Otherwise its second tuple may begin something longer.
            longer = number + 1 < len(stops) and stops[number + 1] > stop + 1
            near = np.concatenate([steps[at + 2 : at + 3], steps[max(at - 2, 0) : max(at - 1, 0)]])
            if longer or not (near == steps[at]).all(axis=1).any():
                stop = at
        size, start = stop - at + 1, tuple(places[at].tolist())
        runs.append(Nest(start, (size,) if size > 1 else (), (tuple(steps[at].tolist()),) if size > 1 else ()))
        at = stop + 1
    if at < count:
        runs.append(Nest(tuple(places[at].tolist()), (), ()))
    return runs


def _repeats(nests: list[Nest]) -> list[Nest]:
    """Neighbours of one shape at equal distances, taken together along a new axis."""
    merged: list[Nest] = []
    at = 0
    while at < len(nests):
        first, stop, step = nests[at], at + 1, None
        while stop < len(nests) and nests[stop].sizes == first.sizes and nests[stop].strides == first.strides:
            difference = tuple(b - a for a, b in zip(nests[stop - 1].starts, nests[stop].starts, strict=True))
            if step is not None and difference != step:
                break
            step, stop = difference, stop + 1
        if step is None or (stop - at == 2 and not _neat(first, step)):
            merged += nests[at:stop]
        else:
            merged.append(Nest(first.starts, (stop - at, *first.sizes), (step, *first.strides)))
        at = stop
    return merged


def _neat(nest: Nest, step: tuple[int, ...]) -> bool:
    """Whether two nests at this distance are a slice, repeated or cut into two, of every vector."""
    for number, distance in enumerate(step):
        axes = [(abs(stride), size) for stride, size in zip(nest.along(number), nest.sizes, strict=True) if stride]
        if not distance or not axes:
            continue
        stride, size = max(axes)
        if distance != stride * size and abs(distance) * 2 != min(axes)[0]:
            return False
    return True


def _separated(nest: Nest) -> list[Nest]:
    """The nest, divided along an axis wherever two axes reach the same places of a vector by other ways."""
    if all(_is_nested(nest.sizes, nest.along(vector)) for vector in range(len(nest.starts))):
        return [nest]
    axis = int(np.argmin(nest.sizes))
    rest = [number for number in range(len(nest.sizes)) if number != axis]
    found = []
    for index in range(nest.sizes[axis]):
        starts = tuple(a + index * b for a, b in zip(nest.starts, nest.strides[axis], strict=True))
        found += _separated(Nest(starts, tuple(nest.sizes[a] for a in rest), tuple(nest.strides[a] for a in rest)))
    return found


def _is_nested(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    extent = 1
    for stride, size in sorted((abs(stride), size) for stride, size in zip(strides, sizes, strict=True) if stride):
        if stride < extent:
            return False
        extent += stride * (size - 1)
    return True


def view(vector: AnyVector, nest: Nest, number: int) -> jax.Array:
    """What a nest takes from its vector of this number. Its axes of stride 0 have length 1."""
    axes = _Axes(nest, number)
    if axes.extent == len(vector):
        taken = vector
    elif len(axes.outermost_first) == 1:
        ((_, stride, _),) = axes.outermost_first
        return axes.unsorted(jax.lax.slice(vector, (axes.first,), (axes.first + axes.extent,), (stride,)))
    else:
        taken = jax.lax.slice(vector, (axes.first,), (axes.first + axes.extent,))
    for size, stride, inner in axes.outermost_first:
        if inner == 1:
            taken = _cut(taken, taken.shape[-1], stride)
            break
        missing = size * stride - taken.shape[-1]
        if missing:
            zero = jnp.zeros((), taken.dtype)
            taken = jax.lax.pad(taken, zero, [(0, 0, 0)] * (taken.ndim - 1) + [(0, missing, 0)])
        taken = _cut(taken.reshape(*taken.shape[:-1], size, stride), inner, 1)
    return axes.unsorted(taken)


def _cut(array: jax.Array, stop: int, stride: int) -> jax.Array:
    """Every so many of the first elements along the last axis."""
    if stop == array.shape[-1] and stride == 1:
        return array
    leading = array.ndim - 1
    return jax.lax.slice(array, [0] * (leading + 1), [*array.shape[:-1], stop], [*[1] * leading, stride])


class Pieces:
    """A vector cut into the parts that nests take from: in reverse one concatenation, where slices would be paddings.

    Args:
        vector: what is cut.
        nests: what will be taken.
        number: of the vector among those of the nests.
    """

    def __init__(self, vector: AnyVector, nests: Sequence[Nest], number: int) -> None:
        self._number = number
        ranges = sorted((axes.first, axes.first + axes.extent) for axes in (_Axes(nest, number) for nest in nests))
        cuts: list[int] = []
        for start, stop in ranges:
            if cuts and start < cuts[-1]:
                cuts[-1] = max(cuts[-1], stop)
            elif cuts and start == cuts[-1]:
                cuts.append(stop)
            else:
                cuts += [start, stop]
        self._starts = sorted({0, *cuts} - {len(vector)})
        sizes = np.diff([*self._starts, len(vector)]).tolist()
        self._parts = [vector] if len(sizes) == 1 else jax.lax.split(vector, sizes)

    def view(self, nest: Nest) -> jax.Array:
        """What a nest takes."""
        axes = _Axes(nest, self._number)
        part = bisect_right(self._starts, axes.first) - 1
        starts = list(nest.starts)
        starts[self._number] -= self._starts[part]
        return view(self._parts[part], nest._replace(starts=tuple(starts)), self._number)


class Placed(NamedTuple):
    """Values that go to a part of a vector, with 0 between them."""

    values: AnyVector
    first: int

    @property
    def end(self) -> int:
        """The place after the last."""
        return self.first + len(self.values)


def put(values: jax.Array, nest: Nest, number: int) -> Placed:
    """The operation transposed to `view`."""
    axes = _Axes(nest, number)
    placed = axes.sorted(values)
    zero = jnp.zeros((), values.dtype)
    for _, stride, inner in reversed(axes.outermost_first):
        if inner == 1 and stride > 1:
            placed = jax.lax.pad(placed, zero, [(0, 0, 0)] * (placed.ndim - 1) + [(0, 0, stride - 1)])
        elif inner > 1:
            if stride > inner:
                placed = jax.lax.pad(placed, zero, [(0, 0, 0)] * (placed.ndim - 1) + [(0, stride - inner, 0)])
            placed = placed.reshape(*placed.shape[:-2], -1)
    if len(placed) > axes.extent:
        placed = jax.lax.slice(placed, (0,), (axes.extent,))
    return Placed(placed, axes.first)


def total(parts: Sequence[Placed], size: int, dtype: Any) -> AnyVector:
    """The sum of vectors of this size: those that overlap are added, and the sums concatenated."""
    frames: list[list[Placed]] = []
    for part in sorted(parts, key=lambda part: part.first):
        if frames and part.first < max(before.end for before in frames[-1]):
            frames[-1].append(part)
        else:
            frames.append([part])
    found, filled = [], 0
    for frame in frames:
        first, end = frame[0].first, max(part.end for part in frame)
        if first > filled:
            found.append(jnp.zeros(first - filled, dtype))
        found.append(reduce(jnp.add, [_padded(part, first, end) for part in frame]))
        filled = end
    if filled < size or not found:
        found.append(jnp.zeros(size - filled, dtype))
    return found[0] if len(found) == 1 else jnp.concatenate(found)


def _padded(part: Placed, first: int, end: int) -> AnyVector:
    """What the part is from one place to another, with 0 outside of it."""
    before, after = part.first - first, end - part.end
    if not before and not after:
        return part.values
    return jax.lax.pad(part.values, jnp.zeros((), part.values.dtype), [(before, after, 0)])


class _Axes:
    """The axes of a nest in one vector, from the largest stride to the smallest, all of them made positive."""

    def __init__(self, nest: Nest, number: int) -> None:
        strides = nest.along(number)
        moving = [axis for axis, stride in enumerate(strides) if stride]
        self._order = sorted(moving, key=lambda axis: -abs(strides[axis]))
        self._reversed = [place for place, axis in enumerate(self._order) if strides[axis] < 0]
        self._moving = moving
        self._shape = tuple(size if stride else 1 for size, stride in zip(nest.sizes, strides, strict=True))
        self.first = nest.starts[number] + sum((nest.sizes[a] - 1) * strides[a] for a in moving if strides[a] < 0)
        """The lowest place."""
        self.extent = 1
        """From the lowest place to the highest."""
        self.outermost_first: list[tuple[int, int, int]] = []
        """Size, stride, and the extent of all axes inside."""
        for axis in reversed(self._order):
            self.outermost_first.insert(0, (nest.sizes[axis], abs(strides[axis]), self.extent))
            self.extent += abs(strides[axis]) * (nest.sizes[axis] - 1)

    def unsorted(self, values: jax.Array) -> jax.Array:
        """From the order of the strides to that of the nest."""
        if self._reversed:
            values = jax.lax.rev(values, self._reversed)
        if self._order != self._moving:
            values = values.transpose([self._order.index(axis) for axis in self._moving])
        return values.reshape(self._shape)

    def sorted(self, values: jax.Array) -> jax.Array:
        """Back."""
        values = values.reshape([self._shape[axis] for axis in self._moving] or [1])
        if self._order != self._moving:
            values = values.transpose([self._moving.index(axis) for axis in self._order])
        return jax.lax.rev(values, self._reversed) if self._reversed else values
