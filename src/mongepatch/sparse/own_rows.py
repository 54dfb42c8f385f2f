"""Hierarchies in which each coordinate of the first level has one row of J: eliminated without cancellation.

The groups of a hierarchy each have one residual (θ − μ)/τ with others in it, and information a of their own. What
remains for μ is Σ a/(1 + aτ²), which JᵀJ + A has only as a difference of numbers near n/τ²: in single precision nothing
is left of it where τ is small.
"""

from collections.abc import Sequence

import numpy as np

from mongepatch._typing import Compressed, Entries
from mongepatch.sparse.colouring import Colouring
from mongepatch.sparse.level import FirstParts
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.plan import SparsePlan
from mongepatch.sparse.sums import take_or_zero


class OwnRows:
    """JᵀJ + A for such a J, and an A that has nothing beside the diagonal in the first level.

    Args:
        pattern: of J.
        colouring: of that pattern.
        plan: of that pattern.
        row_of: the row of each coordinate; −1 for none, and for coordinates that are not in the first level.
    """

    def __init__(self, pattern: Pattern, colouring: Colouring, plan: SparsePlan, row_of: np.ndarray) -> None:
        self._elimination = plan.elimination
        first_level = plan.elimination.first_level
        assert first_level is not None
        eliminated, pivot_of, near = first_level
        rows, columns, size = pattern.rows.astype(int), pattern.columns.astype(int), pattern.shape[1]
        keys = rows * size + columns  # sorted
        own = row_of[eliminated]

        def index_of(row: np.ndarray, column: np.ndarray) -> np.ndarray:
            at = np.minimum(np.searchsorted(keys, row * size + column), len(keys) - 1)
            return np.where((row >= 0) & (keys[at] == row * size + column), colouring.index[at], -1)

        self._own, self._beside = index_of(own, eliminated), index_of(own[pivot_of], near)
        self._rest = plan.gram_sums(left_out=np.isin(plan.pair_rows, own[own >= 0]))

    def parts(self, jacobian: Compressed, terms: Sequence[Entries]) -> FirstParts:
        """JᵀJ + A from J and the terms of A."""
        own, beside = take_or_zero(jacobian, self._own), take_or_zero(jacobian, self._beside)
        return self._elimination.parts_of_rows([self._rest(jacobian, jacobian), *terms], own, beside)


def find_own_rows(pattern: Pattern, colouring: Colouring, plan: SparsePlan, others: Pattern) -> OwnRows | None:
    """The rows of the coordinates of the first level; None where some have more, or others couple them too.

    Args:
        pattern: of J.
        colouring: of that pattern.
        plan: of that pattern.
        others: the pattern of A.
    """
    if plan.elimination.first_level is None:
        return None
    eliminated, _, _ = plan.elimination.first_level
    inside = np.isin(np.arange(pattern.shape[1]), eliminated)
    coupling = others.rows != others.columns
    if (inside[others.rows[coupling]] | inside[others.columns[coupling]]).any():
        return None
    shared = np.diff(pattern.row_starts)[pattern.rows] > 1
    mine = shared & inside[pattern.columns]
    if not mine.any() or np.bincount(pattern.columns[mine]).max() > 1:
        return None
    row_of = np.full(pattern.shape[1], -1)
    row_of[pattern.columns[mine]] = pattern.rows[mine]
    return OwnRows(pattern, colouring, plan, row_of)
