"""The order in which the coordinates of a sparse system are eliminated."""

from collections import Counter

import numpy as np

from mongepatch.sparse.core import SMALL
from mongepatch.sparse.pattern import Pattern

_LITTLE_FILL = 8
"""New entries that a coordinate may make and go with those that make none."""

_MANY_NEIGHBOURS = 32
"""Neighbours above which those that are neighbours of each other are not counted."""


_FULL, _MOST_FULL = 0.6, 64
"""Fraction of pairs that are neighbours, from which on the rest is left to LAPACK; and its most coordinates. Crossed
effects whose means are coupled take half of the time so, and a third of the compilation."""

_SMALL_ENOUGH = 32
"""Coordinates up to which the end of a long chain is left to LAPACK, although levels would go on."""


class Ordering:
    """Levels of coordinates of which no two are neighbours.

    Args:
        pattern: a square one.
    """

    def __init__(self, pattern: Pattern) -> None:
        dimension = pattern.shape[0]
        given = _graph(pattern)
        levels, left = _levels([set(near) for near in given])
        hubs = _hubs(given, left) if len(levels) > 1 else np.array(left, int)
        inside = np.ones(dimension, bool)
        inside[hubs] = False
        self.hubs = len(hubs)
        """How many coordinates are hubs: no level eliminates them, and many of their neighbours are eliminated."""
        self.coordinates = np.append(np.flatnonzero(inside), hubs)
        """All coordinates: their own order, with the hubs as the last."""
        number = np.argsort(self.coordinates)
        self.levels = [np.sort(number[level]) for level in levels]
        """Coordinates that are eliminated at once, as numbers in that order."""
        self.edges = self._edges(given, number)
        """For each number, those of its neighbours."""

    def _edges(self, given: list[set[int]], number: np.ndarray) -> list[set[int]]:
        edges: list[set[int]] = [set() for _ in given]
        for i, near in enumerate(given):
            edges[number[i]] = set(number[list(near)].tolist()) if near else set()
        first = len(given) - self.hubs
        # Coordinates of a level that are beside most of the hubs, but each beside another part of them, are taken as
        # beside all: a product with a few zeros is one call, a list of what differs from 0 is many gathers.
        for level in self.levels:
            beside = [sum(j >= first for j in edges[i]) for i in level.tolist()]
            if 0 < sum(beside) < len(level) * self.hubs <= 4 * sum(beside):
                for i in level.tolist():
                    edges[i].update(range(first, len(given)))
                    for j in range(first, len(given)):
                        edges[j].add(i)
        return edges


def _hubs(graph: list[set[int]], left: list[int]) -> np.ndarray:
    """Those of the coordinates left over that have far more neighbours than the others."""
    degrees = np.array([len(near) for near in graph])
    gone = np.delete(degrees, left)
    most = 2 * np.median(gone) + 1 if len(gone) else -1
    return np.sort(np.array([i for i in left if degrees[i] > most], int))


def _graph(pattern: Pattern) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in range(pattern.shape[0])]
    for i, j in zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True):
        if i != j:
            near[i].add(j)
            near[j].add(i)
    return near


def _levels(graph: list[set[int]]) -> tuple[list[list[int]], list[int]]:
    """Levels, until the rest is better taken as a dense matrix; and the rest. The graph is used up."""
    levels, left = [], list(range(len(graph)))
    while left and (chosen := _independent(graph, left)):
        levels.append(chosen)
        for i in chosen:  # neighbours of an eliminated coordinate become neighbours of each other
            for j in graph[i]:
                graph[j].discard(i)
                if len(graph[i]) > 1:
                    graph[j] |= graph[i]
                    graph[j].discard(j)
        gone = set(chosen)
        left = [i for i in left if i not in gone]
    return _without_small_ones(levels, left)


def _without_small_ones(levels: list[list[int]], left: list[int]) -> tuple[list[list[int]], list[int]]:
    """Levels but for the last of a long chain, which take as many operations as the first, each for few coordinates."""
    dimension = sum(map(len, levels)) + len(left)
    after = dimension
    for number, level in enumerate(levels):
        if len(levels) - number > 1 and after <= _SMALL_ENOUGH and 6 * after <= dimension:
            return levels[:number], sorted([*left, *(i for rest in levels[number:] for i in rest)])
        after -= len(level)
    return levels, left


def _independent(graph: list[set[int]], left: list[int]) -> list[int]:
    """Coordinates to eliminate next, of which no two are neighbours; none where the rest is better taken as dense.

    Eliminating a coordinate makes neighbours of all its neighbours: those go first that make few new ones.
    """
    if SMALL < len(left) <= _MOST_FULL and sum(len(graph[i]) for i in left) > _FULL * len(left) ** 2:
        return []
    fill = {i: _fill(graph, i) for i in left}
    most = 2 * min(fill.values()) + _LITTLE_FILL
    few = _without_neighbours(graph, [i for i in left if fill[i] <= most])
    # The ends of a random walk, and other rare kinds, may wait: each kind takes operations of its own.
    kinds = Counter(len(graph[i]) for i in few)
    few = [i for i in few if kinds[len(graph[i])] > 2 or 8 * kinds[len(graph[i])] > max(kinds.values())]
    if 3 * len(few) < len(left):  # one side of crossed effects goes as a whole, those with many cells included
        usual = float(np.median(list(fill.values())))
        many = _without_neighbours(graph, [i for i in left if fill[i] <= 4 * usual])
        few = many if 2 * len(many) >= len(left) else few
    # A level that eliminates few coordinates costs as many operations as one that eliminates most of them.
    enough = 2 * len(few) >= len(left) or 8 * len(few) >= len(left) > SMALL
    return few if enough and len(few) > 1 else []


def _without_neighbours(graph: list[set[int]], allowed: list[int]) -> list[int]:
    """Some of the coordinates, of which no two are neighbours."""
    # Coordinates with as many neighbours are one array: most of a kind go first, in their own order.
    kinds = Counter(len(graph[i]) for i in allowed)
    chosen: list[int] = []
    blocked: set[int] = set()
    for i in sorted(allowed, key=lambda i: (-kinds[len(graph[i])], len(graph[i]), i)):
        if i not in blocked:
            chosen.append(i)
            blocked |= graph[i]
    return chosen


def _fill(graph: list[set[int]], i: int) -> int:
    near = graph[i]
    if len(near) > _MANY_NEIGHBOURS:
        return len(near) * (len(near) - 1)
    return sum(len(near - graph[j]) - 1 for j in near)
