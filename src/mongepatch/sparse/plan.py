"""All that is decided about a Jacobian and its Gram matrix JᵀJ beforehand, from the pattern of J alone."""

from functools import cached_property

import numpy as np

from mongepatch._typing import AnyVector, Compressed, Entries, Vector
from mongepatch.sparse.colouring import Colouring, colour
from mongepatch.sparse.elimination import Elimination
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.sums import Sums

_FEW_PAIRS, _MANY_PAIRS = 2_000, 5_000_000
"""Products in JᵀJ up to which sparse sums are always fast enough, and beyond which their places take too much room."""


class JacobianPlan:
    """How J is made and what is done with it. Plans of equal patterns are equal: compilations are found by them.

    Args:
        pattern: where J, [residuals, dimension], may differ from 0.
    """

    def __init__(self, pattern: Pattern) -> None:
        # A plan is static under `jit`. It compares by its pattern and not by identity: tracing the same model again
        # makes an equal plan, which finds the compiled sampler of the first.
        self.pattern = pattern
        self.colouring = colour(pattern)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JacobianPlan) and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash(self.pattern)

    @cached_property
    def sparse(self) -> "SparsePlan | None":
        """How G = M + α²JᵀJ is taken apart where M is diagonal; None where dense matrices are as good."""
        # The products in JᵀJ are counted before they are listed: the lists of a dense J would take gigabytes. Small
        # systems are always taken apart, since a call of LAPACK costs more than they do.
        rows, dimension = self.pattern.shape
        pairs = int((np.diff(self.pattern.row_starts) ** 2).sum())
        if pairs > _MANY_PAIRS or (pairs > _FEW_PAIRS and 2 * pairs > rows * dimension**2):
            return None
        plan = SparsePlan(self.pattern, self.colouring)
        return plan if 2 * len(plan.elimination.core) <= dimension else None


class SparsePlan:
    """Products with a compressed J as sums, and the elimination of matrices with the pattern of JᵀJ.

    Args:
        pattern: of J.
        colouring: of that pattern.
        elimination: of matrices whose pattern holds that of JᵀJ; found if it is not given.
    """

    def __init__(self, pattern: Pattern, colouring: Colouring, elimination: Elimination | None = None) -> None:
        # J is kept as the vector of its coloured products. Which products of its entries make an entry of JᵀJ, of Jv or
        # of Jᵀw is known from the pattern. Entries of one colour are in a row: terms are listed colour by colour. Each
        # list is made when it is first asked for, since whitened coordinates need few of them.
        self.dimension = pattern.shape[1]
        self.elimination = elimination or Elimination(pattern.gram())
        self._pattern, self._index = pattern, colouring.index
        self._size = colouring.products * pattern.shape[0 if colouring.forward else 1]
        self._colours = self._index // (self._size // colouring.products)
        self._keys = self.elimination.rows * self.dimension + self.elimination.columns
        self.diagonal = np.where(self.elimination.rows == self.elimination.columns, self.elimination.rows, -1)
        """The coordinate of each entry that is on the diagonal; −1 for the others."""

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of entries of the same row, colour by colour, and the key of their entry of JᵀJ."""
        one, two = self._pattern.entries_in(self._pattern.rows)
        index, colours, columns = self._index, self._colours, self._pattern.columns.astype(int)
        order = np.lexsort((index[two], index[one], colours[two], colours[one]))
        one, two = one[order], two[order]
        return one, two, columns[one] * self.dimension + columns[two]

    def gram_sums(self, left_out: np.ndarray | None = None) -> Sums:
        """How JᵀJ is made at the places that `elimination` expects, without some of the `_pairs`."""
        one, two, wanted = self._pairs
        if left_out is not None:
            one, two, wanted = one[~left_out], two[~left_out], wanted[~left_out]
        return Sums(len(self._keys), _found(places_among(self._keys, wanted), self._index[one], self._index[two]))

    @property
    def pair_rows(self) -> np.ndarray:
        """The row of each of the pairs that `gram_sums` adds."""
        return self._pattern.rows[self._pairs[0]]

    @cached_property
    def _gram(self) -> Sums:
        return self.gram_sums()

    @cached_property
    def _weights(self) -> Sums:
        # Of a symmetric pair outside the tail one entry is listed, which stands for both.
        one, two, wanted = self._pairs
        place = places_among(self._keys, wanted)
        mirrored = self.elimination.columns * self.dimension + self.elimination.rows
        place = np.where(place < 0, places_among(mirrored, wanted), place)
        return Sums(self._size, np.stack([self._index[two], self._index[one], place], axis=1))

    @cached_property
    def _along(self) -> Sums:
        rows, columns = self._pattern.rows.astype(int), self._pattern.columns.astype(int)
        return Sums(self._pattern.shape[0], self._by_colour(np.stack([rows, self._index, columns], axis=1)))

    @cached_property
    def _back(self) -> Sums:
        rows, columns = self._pattern.rows.astype(int), self._pattern.columns.astype(int)
        return Sums(self.dimension, self._by_colour(np.stack([columns, self._index, rows], axis=1)))

    def _by_colour(self, terms: np.ndarray) -> np.ndarray:
        return terms[np.argsort(self._index, kind="stable")]

    def gram(self, left: Compressed, right: Compressed) -> Entries:
        """JᵀB at the places that `elimination` expects, from J and B of the same pattern."""
        return self._gram(left, right)

    def square(self, jacobian: Compressed, other: Compressed, velocity: Vector) -> Vector:
        """Jᵀ(Bv)."""
        return self._back(jacobian, self._along(other, velocity))

    def along(self, jacobian: Compressed, velocity: Vector) -> AnyVector:
        """Jv."""
        return self._along(jacobian, velocity)

    def back(self, jacobian: Compressed, residuals: AnyVector) -> Vector:
        """Jᵀw."""
        return self._back(jacobian, residuals)

    def weights(self, jacobian: Compressed, inverse: Entries) -> Compressed:
        """JZ on the pattern of J, compressed like it, from a symmetric Z at the places that `elimination` expects."""
        return self._weights(jacobian, inverse)


def places_among(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where the wanted are among the keys; −1 for those that are not there."""
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[at] == wanted, at, -1)


def _found(places: np.ndarray, *others: np.ndarray) -> np.ndarray:
    terms = np.stack([places, *others], axis=1)
    return terms[places >= 0]
