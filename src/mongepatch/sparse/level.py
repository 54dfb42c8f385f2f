"""One level of an elimination: what it does with the entries of a matrix, and where it finds them."""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector, Entries
from mongepatch.sparse.nests import Nest
from mongepatch.sparse.pivots import inverse_root
from mongepatch.sparse.sums import Moves, Permutation, Sums, take


class EntryOrder:
    """The order of the entries of a matrix: the diagonal, what is beside it, and the square of the hubs.

    Of a symmetric pair the entry in the lower triangle is listed. Entries are ordered by how many of their column come
    after them, then by their column: so entries of the same kind are in a row.

    Args:
        active: coordinates that are not eliminated yet, ascending, with the hubs as the last.
        hubs: how many hubs there are.
        edges: the neighbours of each coordinate.
    """

    def __init__(self, active: np.ndarray, hubs: int, edges: list[set[int]]) -> None:
        self.active, self.hubs, self.edges = active, hubs, edges
        self._inner = active[: len(active) - hubs]
        self.first = len(edges) - hubs
        """The first hub."""
        later = [sorted(j for j in edges[i] if j > i) for i in self._inner.tolist()]
        counts = np.array([len(near) for near in later], int)
        earlier = np.repeat(self._inner, counts)
        later_ones = np.array([j for near in later for j in near], int)
        after = np.repeat(np.cumsum(counts), counts) - 1 - np.arange(len(earlier))
        order = np.lexsort((earlier, -after))
        square = np.arange(self.first, len(edges))
        self.rows = np.concatenate([self._inner, later_ones[order], np.repeat(square, hubs)])
        """The row of each entry."""
        self.columns = np.concatenate([self._inner, earlier[order], np.tile(square, hubs)])
        """Its column."""
        keys = self._key(self.rows, self.columns)
        self._sorted = np.argsort(keys)
        self._keys = keys[self._sorted]

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Places of entries; −1 of those that are not listed. Except of hubs the order of a pair does not matter."""
        wanted = self._key(rows, columns)
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[at] == wanted, self._sorted[at], -1)

    def _key(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        low = np.minimum(rows, columns)
        row = np.where(low >= self.first, rows, low)
        return row * len(self.edges) + rows + columns - row


class LevelFactors(NamedTuple):
    """What is left of a level after it. A pytree."""

    pivots: AnyVector
    """d."""
    scale: Any
    """d^(−½) of a symmetric matrix; None of others."""
    inverse: AnyVector
    """d⁻¹."""
    lower: AnyVector
    """A_RI d⁻¹."""
    upper: AnyVector
    """d⁻¹ A_IR, at the same places."""


class FirstParts(NamedTuple):
    """A symmetric matrix A, cut into what the first level finds. A pytree."""

    pivots: AnyVector
    """d; without b² where there are rows."""
    beside: AnyVector
    """A_IR; c where there are rows."""
    kept: AnyVector
    """The other entries, without those of the rows."""
    own: Any
    """b, for an A with a row (b, c) for each pivot; else None."""


class _Kind(NamedTuple):
    """Coordinates of a level with as many neighbours, of which as many are hubs."""

    members: np.ndarray
    """Places in the level, [count]."""
    near: np.ndarray
    """Neighbours, [neighbours, count], ascending."""
    inner: int
    """How many of the neighbours are no hubs."""
    start: int
    """Where the entries beside the pivots begin."""

    @property
    def beside(self) -> np.ndarray:
        """Places of the entries beside the pivots, as `near` is."""
        return self.start + np.arange(self.near.size).reshape(self.near.shape)


class EliminationLevel:
    """Coordinates that are eliminated at once.

    Args:
        before: the entries that it finds.
        eliminated: its coordinates, ascending.
    """

    def __init__(self, before: EntryOrder, eliminated: np.ndarray) -> None:
        # Coordinates of a level are no neighbours of each other, so that their block of the matrix is diagonal. To
        # eliminate them all is then one division for each entry beside a pivot, and all of them happen at once.
        near = [np.array(sorted(before.edges[i]), int) for i in eliminated.tolist()]
        kinds = _kinds(near, before.first)
        order = np.concatenate([kind.members for kind in kinds])
        eliminated = eliminated[order]
        edges = before.edges
        for i in eliminated.tolist():
            for j in edges[i]:
                edges[j].discard(i)
                edges[j] |= edges[i]
                edges[j].discard(j)
        rest = before.active[~np.isin(before.active, eliminated)]
        self.after = EntryOrder(rest, before.hubs, edges)
        """What the next level finds."""

        size = len(eliminated)
        starts = np.cumsum([0, *(len(kind.members) for kind in kinds)])
        kinds = [
            kind._replace(members=np.arange(start, stop))
            for kind, start, stop in zip(kinds, starts[:-1], starts[1:], strict=True)
        ]
        pivots_at = before.find(eliminated, eliminated)
        beside_at = _joined(before.find(eliminated[kind.members], kind.near) for kind in kinds)
        # The entries given are those of the lower triangle: beside a coordinate of the level they are a row of it up to
        # the diagonal, and a column from there on.
        self._above = _joined(kind.near < eliminated[kind.members] for kind in kinds)
        self.eliminated = eliminated
        """The coordinates of the level."""
        self.near = _joined(kind.near for kind in kinds)
        """The coordinate of each entry beside the pivots, as these are listed."""
        self.pivot_of = _joined(np.broadcast_to(kind.members, kind.near.shape) for kind in kinds)
        """The number of the pivot that each of them is beside."""
        # Every entry is a pivot, beside one, or kept.
        kept = before.find(self.after.rows, self.after.columns)
        there = np.flatnonzero(kept >= 0)
        self._entries = Permutation(np.concatenate([pivots_at, beside_at, kept[there]]))
        self._sizes = [size, len(beside_at), len(there)]
        self._diagonal = self.after.rows == self.after.columns
        self._keep = Moves(len(self.after), there, np.arange(len(there)))
        self._kept = there
        self.kept_diagonal = self._diagonal[there]
        """Whether each entry that is kept is on the diagonal."""
        hubs = np.minimum(self.after.rows, self.after.columns) >= self.after.first
        self._kept_once = ~(self.kept_diagonal | hubs[there])
        self._update = Sums(len(self.after), *self._updates(kinds))
        self._cross = Sums(len(beside_at), *self._crossings(kinds))
        numbers = np.arange(len(beside_at))
        self._own = Sums(size, np.stack([self.pivot_of, numbers, numbers], axis=1))

        place, after = (_numbers(active, len(edges)) for active in (before.active, rest))
        self._coordinates = Permutation(place[np.append(eliminated, rest)])
        self._near_at = near_at = _joined(after[kind.near] for kind in kinds)
        self._forward = Sums(len(rest), np.stack([near_at, numbers, self.pivot_of], axis=1))
        self._beside = Sums(size, np.stack([self.pivot_of, numbers, near_at], axis=1))

    def _updates(self, kinds: list[_Kind]) -> tuple[np.ndarray, list[Nest]]:
        """Place of an entry that is changed, then of the factor of its later coordinate, then of the earlier one."""
        terms, nests = [np.zeros((0, 3), int)], []
        for kind in kinds:
            beside, near, many = kind.beside, kind.near, len(kind.near)
            for k in range(kind.inner):
                for m in range(k, many):
                    places = self.after.find(near[k], near[m])
                    terms.append(np.stack([places, beside[m], beside[k]], axis=1))
            if (nest := self._square(kind)) is not None:
                nests.append(nest)
                continue
            for k in range(kind.inner, many):
                for m in range(kind.inner, many):
                    places = self.after.find(near[k], near[m])
                    terms.append(np.stack([places, beside[k], beside[m]], axis=1))
        return np.concatenate(terms), nests

    def _crossings(self, kinds: list[_Kind]) -> tuple[np.ndarray, list[Nest]]:
        """Place of an entry of the inverse beside the pivots, then of a factor, then of an entry of the rest."""
        terms, nests = [np.zeros((0, 3), int)], []
        for kind in kinds:
            beside, near, many = kind.beside, kind.near, len(kind.near)
            square = self._square(kind)
            if square is not None:
                (entry, row, column), strides = square.starts, square.strides
                nests.append(Nest((row, column, entry), square.sizes, tuple((r, c, e) for e, r, c in strides)))
            for k in range(many):
                for m in range(many):
                    if square is None or min(k, m) < kind.inner:
                        places = self.after.find(near[k], near[m])
                        terms.append(np.stack([beside[k], beside[m], places], axis=1))
        return np.concatenate(terms), nests

    def _square(self, kind: _Kind) -> Nest | None:
        """Entries of hubs and both factors, for a kind whose members are all beside the same hubs, evenly spaced."""
        hubs, count = kind.near[kind.inner :], kind.near.shape[1]
        if not hubs.size or (hubs != hubs[:, :1]).any() or len(np.unique(np.diff(hubs[:, 0]))) > 1:
            return None
        start = int(self.after.find(hubs[:1, 0], hubs[:1, 0])[0])
        step = int(hubs[1, 0] - hubs[0, 0]) if len(hubs) > 1 else 1
        first = int(kind.beside[kind.inner, 0])
        axes = [
            (len(hubs), (step * self.after.hubs, count, 0)),
            (len(hubs), (step, 0, count)),
            (count, (0, 1, 1)),
        ]
        axes = [axis for axis in axes if axis[0] > 1]
        return Nest((start, first, first), tuple(size for size, _ in axes), tuple(strides for _, strides in axes))

    def eliminate(self, pivots: AnyVector, beside: AnyVector, kept: AnyVector) -> tuple[LevelFactors, AnyVector]:
        """The factors of the level, and the entries of S = A_RR − A_RI d⁻¹ A_IR, for a symmetric A by its parts."""
        scale, lower = self._lower(pivots, beside)
        return LevelFactors(pivots, scale, scale**2, lower, lower), self._keep(kept) - self._update(lower, beside)

    def eliminate_parts(self, parts: FirstParts) -> tuple[LevelFactors, AnyVector]:
        """The same, where A may be a sum of rows, one for each pivot, and of what is not beside the pivots.

        Of a row (b, c) with b on the pivot, d = b² + a, there remains ccᵀ − c(b²/d)cᵀ = c(a/d)cᵀ. The difference would
        leave nothing of a small a. A coordinate of which nothing remains, such as a mean that has no prior and no data
        yet, stays what it is: 1 stands for it.
        """
        if parts.own is None:
            return self.eliminate(parts.pivots, parts.beside, parts.kept)
        pivots = parts.own**2 + parts.pivots
        scale, lower = self._lower(pivots, self.of_pivots(parts.own) * parts.beside)
        share = self.of_pivots(parts.pivots * scale * scale)
        rest = self._keep(parts.kept) + self._update(share * parts.beside, parts.beside)
        rest = jnp.where(self._diagonal & (rest == 0), 1.0, rest)
        return LevelFactors(pivots, scale, scale**2, lower, lower), rest

    def _lower(self, pivots: AnyVector, beside: AnyVector) -> tuple[AnyVector, AnyVector]:
        """d^(−½) and A_RI d⁻¹."""
        scale = inverse_root(pivots)
        beside_scale = self.of_pivots(scale)
        return scale, beside * beside_scale * beside_scale

    def eliminate_both(self, lower: Entries, upper: Entries) -> tuple[LevelFactors, AnyVector, AnyVector]:
        """The same for any A, from the entries of A and of Aᵀ, and the entries of S and of Sᵀ."""
        (pivots, one, kept_below), (_, two, kept_above) = self.parts(lower), self.parts(upper)
        below, above = jnp.where(self._above, two, one), jnp.where(self._above, one, two)
        over = self.of_pivots(pivots)
        factors = LevelFactors(pivots, None, 1.0 / pivots, below / over, above / over)
        rest = self._keep(kept_below) - self._update(factors.lower, above)
        return factors, rest, self._keep(kept_above) - self._update(factors.upper, below)

    def parts(self, entries: Entries) -> Sequence[AnyVector]:
        """Pivots, what is beside them, and what is kept."""
        return jax.lax.split(self._entries(entries), self._sizes)

    def sum_of_parts(self, terms: Sequence[Entries]) -> list[AnyVector]:
        """The same of a sum."""
        return [reduce(jnp.add, parts) for parts in zip(*map(self.parts, terms), strict=True)]

    def divided(self, vector: AnyVector) -> tuple[AnyVector, AnyVector]:
        """The elements of the level, and the rest."""
        own, rest = jax.lax.split(self._coordinates(vector), [self._sizes[0], len(vector) - self._sizes[0]])
        return own, rest

    def joined(self, own: AnyVector, rest: AnyVector) -> AnyVector:
        """The inverse of `divided`."""
        return self._coordinates.inverse(jnp.concatenate([own, rest]))

    def forward(self, factors: LevelFactors, vector: AnyVector) -> tuple[AnyVector, AnyVector]:
        """b_I, and b_R − A_RI d⁻¹ b_I."""
        own, rest = self.divided(vector)
        return own, rest - self._forward(factors.lower, own)

    def beside(self, factors: LevelFactors, rest: AnyVector) -> AnyVector:
        """d⁻¹ A_IR x_R."""
        return self._beside(factors.upper, rest)

    def inverse(self, factors: LevelFactors, rest: AnyVector) -> Entries:
        """Z_IR = −d⁻¹ A_IR Z_RR and Z_II = d⁻¹ − d⁻¹ A_IR Z_RI beside Z_RR = S⁻¹, for a symmetric A.

        The gradient of log det A needs A⁻¹ on the pattern of A alone. These entries follow from those of S⁻¹ on its
        pattern, level by level backwards (Takahashi's equations), so that no full inverse is ever made.
        """
        cross = -self._cross(factors.lower, rest)
        own = factors.inverse - self._own(factors.lower, cross)
        return self.joined_entries(own, cross, rest)

    def joined_entries(self, pivots: AnyVector, beside: AnyVector, rest: AnyVector) -> Entries:
        """The entries that the level finds, from those that it leaves: the inverse of `parts`."""
        return self._entries.inverse(jnp.concatenate([pivots, beside, take(rest, self._kept)]))

    def kept_cotangent(self, doubled: AnyVector) -> AnyVector:
        """What a function changes by the entries that are kept, from X + Xᵀ of its change by S.

        Of a symmetric pair one entry is listed, which stands for both, except of hubs.
        """
        return take(doubled, self._kept) * np.where(self._kept_once, 1.0, 0.5)

    def crossed(self, beside: AnyVector, rest: AnyVector) -> AnyVector:
        """XA_RI at the places beside the pivots, from a symmetric X at the places of S."""
        return self._cross(beside, rest)

    def summed(self, left: AnyVector, right: AnyVector) -> AnyVector:
        """Products beside each pivot, added up."""
        return self._own(left, right)

    def neighbours(self, rest: AnyVector) -> AnyVector:
        """The elements of the neighbours, at the places beside the pivots."""
        return take(rest, self._near_at)

    def of_pivots(self, own: AnyVector) -> AnyVector:
        """The elements of the level, at the places beside their pivots."""
        return take(own, self.pivot_of)


def _kinds(near: list[np.ndarray], first: int) -> list[_Kind]:
    keys = np.array([(len(own), int((own < first).sum())) for own in near])
    kinds, start = [], 0
    for count, inner in np.unique(keys, axis=0).tolist():
        members = np.flatnonzero((keys == (count, inner)).all(1))
        table = np.array([near[i] for i in members.tolist()], int).reshape(len(members), count).T
        kinds.append(_Kind(members, table, inner, start))
        start += table.size
    return kinds


def _joined(parts: Iterator[np.ndarray]) -> np.ndarray:
    return np.concatenate([part.reshape(-1) for part in parts])


def _numbers(active: np.ndarray, size: int) -> np.ndarray:
    numbers = np.full(size, -1)
    numbers[active] = np.arange(len(active))
    return numbers
