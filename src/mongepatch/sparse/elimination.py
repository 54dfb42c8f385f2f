"""Solving sparse systems of a known pattern, level by level.

A level eliminates coordinates of which no two are neighbours, all at once: with pivots d on their diagonal, the others
keep S = A_RR − A_RI d⁻¹ A_IR. All groups of a hierarchy go in one level, every other step of a random walk in each, and
a small rest one by one. What stays dense and is not small is a core, for LAPACK. The same levels serve G, which is
symmetric, and G ± eΩ̃, which is not. There is no pivoting: a pivot that vanishes gives infinities, which trajectories
reject.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, lu_factor, lu_solve, solve_triangular

from mongepatch._typing import AnyVector, Entries, Vector
from mongepatch.sparse.sums import Sums, take, take_or_zero

SMALL = 8
"""Coordinates up to which a dense rest is eliminated one by one: calls of LAPACK take longer."""

_LITTLE_FILL = 8
"""New entries that a coordinate may make and go with those that make none."""


Entry: TypeAlias = tuple[int, int]
"""A row and a column."""


class Factored(NamedTuple):
    """A matrix on its way through the elimination. A pytree."""

    levels: tuple[AnyVector, ...]
    """Its entries as each level finds them."""
    core: Any
    """Factors of what no level eliminates: a lower Cholesky factor, or of `lu_factor`; None where nothing is left."""


class Elimination:
    """The order of elimination of matrices whose entries are given as a vector.

    Args:
        dimension: number of rows.
        entries: row and column of each entry: a symmetric pattern that holds the diagonal.
    """

    def __init__(self, dimension: int, entries: list[Entry]) -> None:
        # Everything that depends on the pattern is decided here, once, in Python. At run time a level is a gather, a
        # product and a sum over arrays of a fixed shape: that compiles to straight code, batches over chains and can be
        # differentiated, where a general sparse factorisation would loop over indices that are data.
        graph = np.zeros((dimension, dimension), bool)
        graph[tuple(np.transpose(entries))] = True
        self._levels: list[_EliminationLevel] = []
        left = np.arange(dimension)
        while len(left) and (chosen := _independent(graph, left)):
            level = _EliminationLevel(graph, entries, left, chosen)
            self._levels.append(level)
            entries, left = level.entries_after, level.left_after
        self.core = left
        """Coordinates that no level eliminates."""
        place = _places(entries)
        self._core_at = np.array([[place.get((int(i), int(j)), -1) for j in left] for i in left], int)

    def factor(self, entries: Entries, symmetric: bool) -> Factored:
        """Eliminate level by level, then factor the core: by Cholesky if the matrix is symmetric."""
        levels = []
        for level in self._levels:
            levels.append(entries)
            entries = level.eliminate(entries)
        if not len(self.core):
            return Factored(tuple(levels), None)
        core = take_or_zero(entries, self._core_at)
        return Factored(tuple(levels), jnp.linalg.cholesky(core) if symmetric else lu_factor(core))

    def pivots(self, factored: Factored) -> Vector:
        """Numbers whose product is the determinant, up to its sign."""
        found = [take(at, level.pivots_at) for level, at in zip(self._levels, factored.levels, strict=True)]
        if factored.core is not None:
            symmetric = not isinstance(factored.core, tuple)
            diagonal = jnp.diagonal(factored.core if symmetric else factored.core[0])
            found.append(diagonal**2 if symmetric else diagonal)
        return jnp.concatenate(found)

    def solve(self, factored: Factored, vector: Vector) -> Vector:
        """A⁻¹ b."""
        right = []
        for level, entries in zip(self._levels, factored.levels, strict=True):
            right.append(take(vector, level.chosen_at) / take(entries, level.pivots_at))
            vector = level.forward(entries, vector)
        if factored.core is None:
            solved = vector
        elif isinstance(factored.core, tuple):
            solved = lu_solve(factored.core, vector)
        else:
            solved = cho_solve((factored.core, True), vector)
        return self._backward(factored, right, solved)

    def root(self, factored: Factored, noise: Vector) -> Vector:
        """F⁻ᵀ z with A = F Fᵀ, for a symmetric A: NaN where it is not positive definite."""
        right = [
            take(noise, level.chosen) / jnp.sqrt(take(entries, level.pivots_at))
            for level, entries in zip(self._levels, factored.levels, strict=True)
        ]
        rest = take(noise, self.core)
        if factored.core is not None:
            rest = solve_triangular(factored.core, rest, lower=True, trans=1)
        return self._backward(factored, right, rest)

    def _backward(self, factored: Factored, right: list[AnyVector], solved: AnyVector) -> Vector:
        for level, entries, own in reversed(list(zip(self._levels, factored.levels, right, strict=True))):
            solved = level.backward(entries, own, solved)
        return solved

    def inverse(self, factored: Factored) -> Entries:
        """The entries of A⁻¹ on the pattern of A, for a symmetric A, in the order of `entries`."""
        found = jnp.zeros(0, factored.levels[0].dtype) if factored.levels else jnp.zeros(0)
        if factored.core is not None:
            identity = jnp.eye(len(self.core), dtype=factored.core.dtype)
            # Entries of the core that its pattern lacks are not asked for.
            present = self._core_at >= 0
            order = np.argsort(self._core_at[present])
            found = take(cho_solve((factored.core, True), identity).ravel(), np.flatnonzero(present)[order])
        for level, entries in reversed(list(zip(self._levels, factored.levels, strict=True))):
            found = level.inverse(entries, found)
        return found


class _EliminationLevel:
    """One level: the coordinates that it eliminates, and where all that it needs is found."""

    def __init__(self, graph: np.ndarray, entries: list[Entry], left: np.ndarray, chosen: list[int]) -> None:
        # Coordinates of a level are no neighbours of each other, so that their block of the matrix is diagonal. To
        # eliminate them all is then one division for each entry beside a pivot, and all of them happen at once.
        rest = left[~np.isin(left, chosen)]
        near = {i: [int(r) for r in rest[graph[i, rest]]] for i in chosen}
        for i in chosen:  # neighbours of an eliminated coordinate become neighbours of each other
            graph[np.ix_(near[i], near[i])] = True
        at, place = _places(entries), _places(left.tolist())
        lower = [(r, i) for i in chosen for r in near[i]]
        lower_at = _places(lower)
        self._lower_at = np.array([at[entry] for entry in lower], int)
        self._lower_pivot_at = np.array([at[i, i] for _, i in lower], int)

        kept = [(int(rest[r]), int(rest[c])) for r, c in np.argwhere(graph[np.ix_(rest, rest)])]
        updates: dict[Entry, list[Entry]] = {entry: [] for entry in kept}
        sinks: dict[int, list[Entry]] = {int(r): [] for r in rest}
        for r, i in lower:
            sinks[r].append((lower_at[r, i], place[i]))
            for c in near[i]:
                updates[r, c].append((lower_at[r, i], at[i, c]))
        # `Sums` returns its results in an order of its own. What comes after a level is numbered in that order, so that
        # no permutation is needed at run time.
        self._update, self._forward = Sums(list(updates.values())), Sums(list(sinks.values()))
        self.entries_after = [kept[number] for number in self._update.order]
        self.left_after = rest[self._forward.order]
        self._kept_at = np.array([at.get(entry, -1) for entry in self.entries_after], int)
        self._rest_at = np.array([place[r] for r in self.left_after.tolist()], int)

        after = _places(self.left_after.tolist())
        self._backward = Sums([[(at[i, c], after[c]) for c in near[i]] for i in chosen])
        self.chosen = np.array(chosen, int)[self._backward.order]
        self.chosen_at = np.array([place[i] for i in self.chosen.tolist()], int)
        self.pivots_at = np.array([at[i, i] for i in self.chosen.tolist()], int)
        merged = _places([*self.chosen.tolist(), *self.left_after.tolist()])
        self._merge = np.array([merged[i] for i in left.tolist()], int)
        self._plan_inverse(at, lower_at, near)

    def _plan_inverse(self, at: dict[Entry, int], lower_at: dict[Entry, int], near: dict[int, list[int]]) -> None:
        # The gradient of log det A needs A⁻¹ on the pattern of A alone. These entries follow from those of S⁻¹ on its
        # pattern, level by level backwards (Takahashi's equations), so that no full inverse is ever made.
        rest_at, lower, chosen = _places(self.entries_after), list(lower_at), list(near)
        self._cross = Sums([[(lower_at[c, i], rest_at[c, r]) for c in near[i]] for r, i in lower])
        cross_at = _places([lower[number] for number in self._cross.order])
        self._own = Sums([[(lower_at[c, i], cross_at[c, i]) for c in near[i]] for i in chosen])
        own_at = _places([chosen[number] for number in self._own.order])
        self._own_pivots_at = np.array([at[i, i] for i in own_at], int)

        def source(i: int, j: int) -> int:
            """Where an entry of the inverse is found among the diagonal, the crossing and the remaining entries."""
            if i in near:
                return own_at[i] if i == j else len(chosen) + cross_at[j, i]
            return len(chosen) + cross_at[i, j] if j in near else len(chosen) + len(lower) + rest_at[i, j]

        self._inverse_from = np.array([source(i, j) for i, j in at], int)

    def _lower(self, entries: Entries) -> AnyVector:
        """A_RI d⁻¹."""
        return take(entries, self._lower_at) / take(entries, self._lower_pivot_at)

    def eliminate(self, entries: Entries) -> AnyVector:
        """Entries of S = A_RR − A_RI d⁻¹ A_IR."""
        return take_or_zero(entries, self._kept_at) - self._update(self._lower(entries), entries)

    def forward(self, entries: Entries, vector: AnyVector) -> AnyVector:
        """b_R − A_RI d⁻¹ b_I."""
        return take(vector, self._rest_at) - self._forward(self._lower(entries), vector)

    def backward(self, entries: Entries, own: AnyVector, rest: AnyVector) -> AnyVector:
        """x_I = own − d⁻¹ A_IR x_R beside x_R, in the order that the level began with."""
        mine = own - self._backward(entries, rest) / take(entries, self.pivots_at)
        return take(jnp.concatenate([mine, rest]), self._merge)

    def inverse(self, entries: Entries, rest: AnyVector) -> Entries:
        """Z_IR = −d⁻¹ A_IR Z_RR and Z_II = d⁻¹ − d⁻¹ A_IR Z_RI beside Z_RR = S⁻¹, for a symmetric A."""
        lower = self._lower(entries)
        cross = -self._cross(lower, rest)
        own = 1.0 / take(entries, self._own_pivots_at) - self._own(lower, cross)
        return take(jnp.concatenate([own, cross, rest]), self._inverse_from)


K = TypeVar("K", bound=Hashable)


def _places(items: Sequence[K]) -> dict[K, int]:
    return {item: place for place, item in enumerate(items)}


def _independent(graph: np.ndarray, left: np.ndarray) -> list[int]:
    """Coordinates to eliminate next, of which no two are neighbours; none where the rest is better left to LAPACK.

    Eliminating a coordinate makes neighbours of all its neighbours: those go first that make the fewest new ones.
    """
    # A level that eliminates few coordinates costs as many operations as one that eliminates most of them: where fewer
    # than an eighth would go, the rest is dense enough for one call of LAPACK.
    among = graph[np.ix_(left, left)] & ~np.eye(len(left), dtype=bool)
    fill = np.array([row.sum() * (row.sum() - 1) - among[np.ix_(row, row)].sum() for row in among])
    chosen: list[int] = []
    blocked = np.zeros(len(graph), bool)
    for place in np.lexsort((among.sum(1), fill)):
        coordinate = int(left[place])
        if fill[place] <= 2 * fill.min() + _LITTLE_FILL and not blocked[coordinate]:
            chosen.append(coordinate)
            blocked |= graph[coordinate]
    return chosen if len(left) <= SMALL or 8 * len(chosen) >= len(left) else []
