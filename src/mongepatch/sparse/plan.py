"""All that is decided about a Jacobian and its Gram matrix JᵀJ beforehand, from the pattern of J alone."""

from functools import cached_property

import jax.numpy as jnp
import numpy as np

from mongepatch._typing import Compressed, Entries, Vector
from mongepatch.sparse.colouring import colour
from mongepatch.sparse.elimination import Elimination, Entry
from mongepatch.sparse.sums import Sums, take

_FEW_PAIRS, _MANY_PAIRS = 2_000, 500_000
"""Products in JᵀJ up to which sparse sums are always fast enough, and beyond which their places take too much room."""


class JacobianPlan:
    """How J is made and what is done with it. Plans of equal patterns are equal: compilations are found by them.

    Args:
        pattern: where J, [residuals, dimension], may differ from 0.
    """

    def __init__(self, pattern: np.ndarray) -> None:
        # A plan is static under `jit`. It compares by its pattern and not by identity: tracing the same model again
        # makes an equal plan, which finds the compiled sampler of the first.
        self.pattern = pattern
        self.colouring = colour(pattern)
        self._key = (pattern.shape, pattern.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JacobianPlan) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def sparse(self) -> "SparsePlan | None":
        """How G = M + α²JᵀJ is taken apart where M is diagonal; None where dense matrices are as good."""
        # The products in JᵀJ are counted before they are listed: the lists of a dense J would take gigabytes. Small
        # systems are always taken apart, since a call of LAPACK costs more than they do.
        rows, dimension = self.pattern.shape
        pairs = int((self.pattern.sum(1) ** 2).sum())
        if pairs > _MANY_PAIRS or (pairs > _FEW_PAIRS and 2 * pairs > rows * dimension**2):
            return None
        plan = SparsePlan(self.pattern, self.colouring.index)
        return plan if 2 * len(plan.elimination.core) <= dimension else None


class SparsePlan:
    """Products with a compressed J as sums, and the elimination of matrices with the pattern of JᵀJ."""

    def __init__(self, pattern: np.ndarray, index: np.ndarray) -> None:
        # J is kept as the vector of its coloured products. Which products of its entries make an entry of JᵀJ, of Jv or
        # of Jᵀw is known from the pattern: each of these is a list of pairs of places for `Sums`.
        self.dimension = dimension = pattern.shape[1]
        columns = [np.flatnonzero(row).tolist() for row in pattern]
        pairs: dict[Entry, list[Entry]] = {(i, i): [] for i in range(dimension)}
        by_column: list[list[Entry]] = [[] for _ in range(dimension)]
        for r, members in enumerate(columns):
            for i in members:
                by_column[i].append((int(index[r, i]), r))
                for j in members:
                    pairs.setdefault((i, j), []).append((int(index[r, i]), int(index[r, j])))
        self.gram = Sums(list(pairs.values()))
        """JᵀB from J and B of the same pattern."""
        places = list(pairs)
        entries = [places[number] for number in self.gram.order]
        self.diagonal = np.array([i if i == j else -1 for i, j in entries], int)
        """The coordinate of each entry that is on the diagonal; −1 for the others."""
        self.elimination = Elimination(dimension, entries)
        self._along = Sums([[(int(index[r, i]), i) for i in members] for r, members in enumerate(columns)])
        row_at = np.argsort(self._along.order).tolist()
        self._back = Sums([[(place, row_at[r]) for place, r in terms] for terms in by_column])
        self._back_to = np.argsort(self._back.order)
        at = {entry: place for place, entry in enumerate(entries)}
        inside = [(r, c) for r, members in enumerate(columns) for c in members]
        self._weights = Sums([[(int(index[r, j]), at[j, c]) for j in columns[r]] for r, c in inside])
        self._weights_to = np.full(index.max() + 1, -1)
        self._weights_to[[index[inside[number]] for number in self._weights.order]] = np.arange(len(inside))

    def square(self, jacobian: Compressed, other: Compressed, velocity: Vector) -> Vector:
        """Jᵀ(Bv)."""
        return take(self._back(jacobian, self._along(other, velocity)), self._back_to)

    def weights(self, jacobian: Compressed, inverse: Entries) -> Compressed:
        """JZ on the pattern of J, compressed like it, from a Z of the pattern of JᵀJ."""
        found = self._weights(jacobian, inverse)
        return jnp.where(self._weights_to < 0, 0.0, take(found, np.maximum(self._weights_to, 0)))
