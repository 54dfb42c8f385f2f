"""Where a matrix may differ from 0: its pattern, as a list of places."""

from functools import cached_property
from hashlib import blake2b

import numpy as np
import scipy


class Pattern:
    """Places of a matrix that may differ from 0, row by row. An entry may be listed in vain, but none is missed.

    Args:
        shape: rows and columns of the matrix.
        rows: the row of each entry, in any order. An entry may be given more than once.
        columns: its column.
    """

    def __init__(self, shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray) -> None:
        self.shape = shape
        # Sorted by hand: `np.unique` puts them in a hash table first, which takes minutes for regular keys.
        keys = np.sort(np.asarray(rows, np.int64) * shape[1] + np.asarray(columns, np.int64))
        keys = keys[np.append(True, np.diff(keys) > 0)] if len(keys) else keys
        self.rows = (keys // max(shape[1], 1)).astype(np.int32)
        """The row of each entry, sorted."""
        self.columns = (keys % max(shape[1], 1)).astype(np.int32)
        """The column of each entry, sorted within a row."""

    @classmethod
    def from_dense(cls, matrix: np.ndarray) -> "Pattern":
        """The places where a matrix is not 0."""
        rows, columns = matrix.shape
        return cls((rows, columns), *np.nonzero(matrix))

    @classmethod
    def full(cls, shape: tuple[int, int]) -> "Pattern":
        """All places."""
        return cls.from_dense(np.ones(shape, bool))

    @classmethod
    def diagonal(cls, size: int) -> "Pattern":
        """The diagonal of a square matrix."""
        return cls((size, size), np.arange(size), np.arange(size))

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[tuple[int, int], bytes]:
        return self.shape, blake2b(self.rows.tobytes() + self.columns.tobytes()).digest()

    @property
    def is_full(self) -> bool:
        """Whether all places are listed."""
        return len(self) == self.shape[0] * self.shape[1]

    @cached_property
    def row_starts(self) -> np.ndarray:
        """Where the entries of each row begin, and where the last row ends."""
        return np.searchsorted(self.rows, np.arange(self.shape[0] + 1))

    def dense(self) -> np.ndarray:
        """The pattern as booleans."""
        matrix = np.zeros(self.shape, bool)
        matrix[self.rows, self.columns] = True
        return matrix

    def transposed(self) -> "Pattern":
        """The pattern of the transposed matrix."""
        return Pattern((self.shape[1], self.shape[0]), self.columns, self.rows)

    def of_columns(self, columns: np.ndarray) -> "Pattern":
        """The pattern of some columns, in ascending order, which are numbered anew."""
        number = np.full(self.shape[1], -1)
        number[columns] = np.arange(len(columns))
        inside = number[self.columns] >= 0
        return Pattern((self.shape[0], len(columns)), self.rows[inside], number[self.columns[inside]])

    def of_rows(self, rows: np.ndarray) -> "Pattern":
        """The pattern of some rows, which are numbered anew."""
        return self.transposed().of_columns(rows).transposed()

    def union(self, other: "Pattern") -> "Pattern":
        """All entries of both."""
        rows, columns = np.append(self.rows, other.rows), np.append(self.columns, other.columns)
        return Pattern(self.shape, rows, columns)

    def entries_in(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All pairs of an element of `rows` and an entry in that row, as numbers of elements and of entries."""
        counts = np.diff(self.row_starts)[rows]
        element = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(len(element)) - np.repeat(np.cumsum(counts) - counts, counts)
        return element, np.repeat(self.row_starts[rows], counts) + within

    def above(self, other: "Pattern") -> "Pattern":
        """The rows of this pattern followed by those of another."""
        rows, columns = np.append(self.rows, self.shape[0] + other.rows), np.append(self.columns, other.columns)
        return Pattern((self.shape[0] + other.shape[0], self.shape[1]), rows, columns)

    def times(self, other: "Pattern") -> "Pattern":
        """The pattern of the product of two matrices."""
        product = (self._table @ other._table).tocoo()
        return Pattern((self.shape[0], other.shape[1]), product.row, product.col)

    def gram(self) -> "Pattern":
        """The pattern of JᵀJ, with all of the diagonal."""
        return self.transposed().times(self).union(Pattern.diagonal(self.shape[1]))

    @property
    def _table(self) -> "scipy.sparse.csr_array":
        return scipy.sparse.csr_array((np.ones(len(self), bool), (self.rows, self.columns)), shape=self.shape)
