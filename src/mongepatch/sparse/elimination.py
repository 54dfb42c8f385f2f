"""Solving sparse systems of a known pattern, level by level.

A level eliminates coordinates of which no two are neighbours, all at once: with pivots d on their diagonal, the others
keep S = A_RR − A_RI d⁻¹ A_IR. All groups of a hierarchy go in one level, every other step of a random walk in each.
What is left is dense: a few coordinates are eliminated one by one, more of them by LAPACK. The same levels serve G,
which is symmetric, and G ± eΩ̃, which is not. There is no pivoting: a pivot that vanishes gives infinities, which
trajectories reject.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector, Entries, Matrix, Scalar, Vector
from mongepatch.sparse.core import SMALL, SymmetricCore, factor_general, factor_symmetric
from mongepatch.sparse.level import EliminationLevel, EntryOrder, FirstParts, LevelFactors
from mongepatch.sparse.ordering import Ordering
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.pivots import log_of
from mongepatch.sparse.sums import Moves, Permutation, take


class Factored(NamedTuple):
    """A matrix after its elimination. A pytree."""

    levels: tuple[LevelFactors, ...]
    core: Any
    """Factors of what no level eliminates; None where nothing is left."""


class Elimination:
    """The order of elimination of matrices of a known pattern, whose entries are given as a vector.

    Args:
        pattern: a square one. It is made symmetric, and gets the diagonal.
    """

    def __init__(self, pattern: Pattern) -> None:
        # Everything that depends on the pattern is decided here, once, in Python. At run time a level is a few products
        # and sums of slices: that compiles to straight code, batches over chains and can be differentiated, where a
        # general sparse factorisation would loop over indices that are data.
        ordering = Ordering(pattern)
        self._coordinates, self.order = ordering.coordinates, Permutation(ordering.coordinates)
        self.levels: list[EliminationLevel] = []
        """From the first to the last."""
        layout = first = EntryOrder(np.arange(len(self._coordinates)), ordering.hubs, ordering.edges)
        for eliminated in ordering.levels:
            level = EliminationLevel(layout, eliminated)
            self.levels.append(level)
            layout = level.after
        self._rest = layout.active
        size = len(self._rest)
        row, column = np.searchsorted(self._rest, np.stack([layout.rows, layout.columns]))
        self._square_from = row * size + column
        mirrored = np.flatnonzero((layout.rows != layout.columns) & (layout.columns < layout.first))
        above = column[mirrored] * size + row[mirrored]
        self._square = Moves(size**2, np.append(self._square_from, above), np.append(np.arange(len(layout)), mirrored))
        self._above = np.isin(np.arange(size**2), above)
        self.rows = self._coordinates[first.rows]
        """The row of each entry that `factor` expects, in its order. Of a symmetric pair one entry is listed, or both
        where both coordinates have many neighbours. Some entries off the pattern are listed: they are 0."""
        self.columns = self._coordinates[first.columns]
        """Its column."""

    @property
    def core(self) -> np.ndarray:
        """Coordinates that are left to LAPACK."""
        return self._coordinates[self._rest if len(self._rest) > SMALL else self._rest[:0]]

    def places(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Where the entries that `factor` expects are among entries of these rows and columns: −1 for none.

        Of a symmetric pair either entry will do.
        """
        size = len(self._coordinates)
        given = np.append(rows * size + columns, columns * size + rows)
        sorted_keys, first = np.unique(given, return_index=True)
        wanted = self.rows * size + self.columns
        at = np.minimum(np.searchsorted(sorted_keys, wanted), len(sorted_keys) - 1)
        return np.where(sorted_keys[at] == wanted, first[at] % len(rows), -1)

    def factor(self, entries: Entries, transposed: Entries | None = None) -> Factored:
        """Eliminate level by level, then factor the rest.

        Args:
            entries: the entries of A at `rows` and `columns`.
            transposed: those of Aᵀ at the same places, for an A that is not symmetric.
        """
        if transposed is None:
            return self._factor_symmetric(entries)[0]
        levels, lower, upper = [], entries, transposed
        for level in self.levels:
            factors, lower, upper = level.eliminate_both(lower, upper)
            levels.append(factors)
        if not len(self._rest):
            return Factored(tuple(levels), None)
        square = self._square(lower)
        if self._above.any():
            square = jnp.where(self._above, self._square(upper), square)
        return Factored(tuple(levels), factor_general(square.reshape(len(self._rest), -1)))

    def parts_of_sum(self, terms: Sequence[Entries], increase: float = 1.0) -> FirstParts:
        """A symmetric A that is a sum, and whose diagonal is multiplied by a number near 1, for `factor_parts`.

        The terms are cut into parts before they are added: compiled code then never joins these parts.
        """
        pivots, beside, kept = self.levels[0].sum_of_parts(terms)
        kept = kept * np.where(self.levels[0].kept_diagonal, increase, 1.0) if increase != 1.0 else kept
        return FirstParts(pivots * increase, beside, kept, None)

    def parts_of_rows(self, terms: Sequence[Entries], own: AnyVector, beside: AnyVector) -> FirstParts:
        """The same for a sum that has a row (b, c) for each coordinate of the first level besides.

        Args:
            terms: without the rows, but for what they have beside the pivots, which is not looked at.
            own: b, of each coordinate of `first_level`.
            beside: c, for each of its neighbours there.
        """
        excess, _, kept = self.levels[0].sum_of_parts(terms)
        return FirstParts(excess, beside, kept, own)

    def factor_parts(self, parts: FirstParts) -> tuple[Factored, Entries]:
        """Eliminate level by level, then factor the rest, for a symmetric A; and the entries of the rest."""
        return self._factor_symmetric(*self.levels[0].eliminate_parts(parts))

    @property
    def first_level(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Coordinates of the first level; then, for each entry beside its pivots, number of the pivot and neighbour."""
        if not self.levels:
            return None
        first = self.levels[0]
        return self._coordinates[first.eliminated], first.pivot_of, self._coordinates[first.near]

    def of_core(self, matrix: Matrix) -> Entries:
        """The entries of what no level eliminates, from a symmetric matrix of these coordinates."""
        return take(matrix.reshape(-1), self._square_from)

    def _factor_symmetric(self, *done: Any) -> tuple[Factored, Entries]:
        """Factors of levels, then entries of what they leave."""
        *levels, entries = done
        for level in self.levels[len(levels) :]:
            factors, entries = level.eliminate(*level.parts(entries))
            levels.append(factors)
        return Factored(tuple(levels), self.core_of(entries)), entries

    def core_of(self, entries: Entries) -> SymmetricCore | None:
        """Factors of what no level eliminates, from its entries."""
        if not len(self._rest):
            return None
        return factor_symmetric(self._square(entries).reshape(len(self._rest), -1))

    def log_det(self, factored: Factored) -> Scalar:
        """Log det A, for a symmetric A."""
        parts = [log_of(factors.pivots, factors.inverse).sum() for factors in factored.levels]
        return reduce(jnp.add, parts if factored.core is None else [*parts, factored.core.log_det])

    def pivots(self, factored: Factored) -> Vector:
        """Numbers whose product is the determinant, up to its sign."""
        found = [factors.pivots for factors in factored.levels]
        if factored.core is not None:
            found.append(factored.core.pivots())
        return jnp.concatenate(found)

    def solve(self, factored: Factored, vector: Vector) -> Vector:
        """A⁻¹ b."""
        right, vector = [], self.order(vector)
        for level, factors in zip(self.levels, factored.levels, strict=True):
            own, vector = level.forward(factors, vector)
            right.append(own * factors.inverse)
        return self._backward(factored, right, vector if factored.core is None else factored.core.solve(vector))

    def root(self, factored: Factored, noise: Vector) -> Vector:
        """F⁻ᵀ z with A = F Fᵀ, for a symmetric A: NaN where it is not positive definite."""
        right, noise = [], self.order(noise)
        for level, factors in zip(self.levels, factored.levels, strict=True):
            own, noise = level.divided(noise)
            right.append(own * factors.scale)
        return self._backward(factored, right, noise if factored.core is None else factored.core.root(noise))

    def draw(self, factored: Factored, vector: Vector, noise: Vector) -> Vector:
        """A⁻¹ b + F⁻ᵀ z, at little more than the cost of one: for normal z a draw from N(A⁻¹ b, A⁻¹)."""
        right, vector, noise = [], self.order(vector), self.order(noise)
        for level, factors in zip(self.levels, factored.levels, strict=True):
            own, vector = level.forward(factors, vector)
            own_noise, noise = level.divided(noise)
            right.append((own * factors.scale + own_noise) * factors.scale)
        return self._backward(factored, right, vector if factored.core is None else factored.core.draw(vector, noise))

    def root_transposed(self, factored: Factored, vector: Vector) -> Vector:
        """Fᵀ x, the inverse of `root`."""
        parts, vector = [], self.order(vector)
        for level, factors in zip(self.levels, factored.levels, strict=True):
            own, vector = level.divided(vector)
            parts.append((own + level.beside(factors, vector)) / factors.scale)
        found = vector if factored.core is None else factored.core.root_transposed(vector)
        for level, own in zip(reversed(self.levels), reversed(parts), strict=True):
            found = level.joined(own, found)
        return self.order.inverse(found)

    def _backward(self, factored: Factored, right: list[AnyVector], solved: AnyVector) -> Vector:
        for level, factors, own in reversed(list(zip(self.levels, factored.levels, right, strict=True))):
            solved = level.joined(own - level.beside(factors, solved), solved)
        return self.order.inverse(solved)

    def inverse(self, factored: Factored) -> Entries:
        """The entries of A⁻¹ at `rows` and `columns`, for a symmetric A."""
        found = jnp.zeros(0, factored.levels[0].pivots.dtype) if factored.levels else jnp.zeros(0)
        if factored.core is not None:
            found = self.of_core(factored.core.inverse())
        for level, factors in reversed(list(zip(self.levels, factored.levels, strict=True))):
            found = level.inverse(factors, found)
        return found
