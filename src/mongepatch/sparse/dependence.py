"""Which parameters the elements of an array depend on."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy


class DependenceTable:
    """The parameters that each element of an array depends on: elements that depend on the same ones share a set.

    So an array of many elements takes little room, and operations that move its elements move numbers of sets.

    Args:
        index: the number of the set of each element, in the shape of the array.
        sets: booleans [sets, parameters].
    """

    def __init__(self, index: np.ndarray, sets: "scipy.sparse.csr_array") -> None:
        self.index, self.sets = index, sets

    @classmethod
    def each(cls, dimension: int) -> "DependenceTable":
        """A vector of parameters, each of which depends on itself."""
        numbers = np.arange(dimension)
        return cls(numbers, _sets(numbers, numbers, (dimension, dimension)))

    @classmethod
    def none(cls, shape: tuple[int, ...], dimension: int) -> "DependenceTable":
        """Elements that depend on nothing."""
        return cls(np.zeros(shape, int), scipy.sparse.csr_array((1, dimension), dtype=bool))

    @property
    def dimension(self) -> int:
        """How many parameters there are."""
        return int(self.sets.shape[1])

    def moved(self, index: np.ndarray) -> "DependenceTable":
        """The same sets for other elements."""
        return DependenceTable(index, self.sets)

    def total(self, shape: tuple[int, ...]) -> "DependenceTable":
        """An array of which each element depends on all that any element of this one depends on."""
        return self.grouped(np.zeros(self.index.size, int), self.index, 1).moved(np.zeros(shape, int))

    def grouped(self, groups: np.ndarray, sets: np.ndarray, count: int) -> "DependenceTable":
        """The unions of the sets in each group: a vector of as many elements as there are groups."""
        pairs = np.unique(groups.reshape(-1).astype(np.int64) * self.sets.shape[0] + sets.reshape(-1))
        members = _sets(pairs // self.sets.shape[0], pairs % self.sets.shape[0], (count, self.sets.shape[0]))
        return _shared(np.arange(count), members @ self.sets)

    def reduced(self, axes: tuple[int, ...]) -> "DependenceTable":
        """The unions along some axes."""
        kept = [size for axis, size in enumerate(self.index.shape) if axis not in axes]
        last = np.moveaxis(self.index, axes, range(-len(axes), 0)).reshape(int(np.prod(kept, dtype=int)), -1)
        groups = np.broadcast_to(np.arange(len(last))[:, None], last.shape)
        found = self.grouped(groups, last, len(last))
        return found.moved(found.index.reshape(kept))

    def where(self, mask: np.ndarray) -> "DependenceTable":
        """Elements outside the mask depend on nothing."""
        if mask.all():
            return self
        empty = self.sets.shape[0]
        sets = scipy.sparse.vstack([self.sets, scipy.sparse.csr_array((1, self.dimension), dtype=bool)], format="csr")
        return DependenceTable(np.where(mask, self.index, empty), sets)


def union(tables: Sequence[DependenceTable]) -> DependenceTable:
    """Element by element, all that any of the tables has. Shapes are broadcast."""
    found = tables[0]
    for other in tables[1:]:
        one, two = np.broadcast_arrays(found.index, other.index)
        count = other.sets.shape[0]
        pairs, index = np.unique(one.reshape(-1).astype(np.int64) * count + two.reshape(-1), return_inverse=True)
        sets = found.sets[pairs // count] + other.sets[pairs % count]
        found = _shared(index.reshape(one.shape), sets)
    return found


def joined(tables: Sequence[DependenceTable]) -> list[DependenceTable]:
    """The same tables with one collection of sets."""
    starts = np.cumsum([0, *(table.sets.shape[0] for table in tables)])
    sets = scipy.sparse.vstack([table.sets for table in tables], format="csr")
    whole = _shared(np.arange(sets.shape[0]), sets)
    return [
        DependenceTable(whole.index[start + table.index], whole.sets)
        for start, table in zip(starts[:-1], tables, strict=True)
    ]


def _shared(index: np.ndarray, sets: "scipy.sparse.csr_array") -> DependenceTable:
    """A table in which no two sets are equal, told apart by sums of random numbers of 64 bits."""
    if sets.shape[0] < 2:
        return DependenceTable(index, sets)
    numbers = np.random.default_rng(0).integers(2**63, size=sets.shape[1], dtype=np.uint64)
    sums = np.append(np.zeros(1, np.uint64), np.cumsum(numbers[sets.indices], dtype=np.uint64))
    _, first, inverse = np.unique(np.diff(sums[sets.indptr]), return_index=True, return_inverse=True)
    return DependenceTable(inverse.reshape(-1)[index], sets[first])


def _sets(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> "scipy.sparse.csr_array":
    return scipy.sparse.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=shape)


@dataclass(frozen=True)
class Dependence:
    """What is known of an array: its value, or the parameters that its elements depend on, or neither."""

    shape: tuple[int, ...]
    value: Any = None
    depends: DependenceTable | None = None
    """None where no element depends on any parameter."""

    def table(self, dimension: int) -> DependenceTable:
        """`depends`, of empty sets where there is none."""
        return DependenceTable.none(self.shape, dimension) if self.depends is None else self.depends

    @cached_property
    def places(self) -> np.ndarray:
        """The parameters that any element depends on."""
        return np.zeros(0, int) if self.depends is None else np.unique(self.depends.total(()).sets.indices)

    @cached_property
    def nonzero(self) -> np.ndarray:
        """Where the elements may differ from 0."""
        return np.ones(self.shape, bool) if self.value is None else np.asarray(self.value) != 0
