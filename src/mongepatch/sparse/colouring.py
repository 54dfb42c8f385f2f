"""Jacobians from few products: columns that share no row are found together, in one product with their sum.

Of the columns (forward products) and the rows (reverse products) those are coloured that need fewer colours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._linalg import dot
from mongepatch._typing import AnyVector, Compressed, Jacobian, Vector
from mongepatch.sparse.pattern import Pattern


@dataclass(frozen=True)
class Colouring:
    """How a Jacobian of a known pattern is compressed into a vector."""

    forward: bool
    seeds: np.ndarray
    """Directions of the products, [colours, columns or rows]: 1 for the members of a colour."""
    index: np.ndarray
    """Where each entry of the pattern is found in the vector, in the order of the pattern."""

    @property
    def products(self) -> int:
        """How many products make the Jacobian."""
        return len(self.seeds)

    def columns(self, pattern: Pattern) -> np.ndarray:
        """The column of each place of the vector; any one for places off the pattern, where the entry is 0."""
        found = np.zeros(self.products * pattern.shape[0 if self.forward else 1], int)
        found[self.index] = pattern.columns
        return found

    def compressed(self, residuals: Callable[[Any], AnyVector], position: Vector) -> Compressed:
        """All entries of the Jacobian at a position, as a vector."""
        seeds = jnp.asarray(self.seeds, position.dtype)
        if self.forward:
            rows = jax.vmap(lambda seed: jax.jvp(residuals, (position,), (seed,))[1])(seeds)
        else:
            _, pull = jax.vjp(residuals, position)
            rows = jax.vmap(lambda seed: pull(seed)[0])(seeds)
        return rows.ravel()

    def expanded(self, compressed: Compressed) -> Jacobian:
        """The Jacobian as a matrix, off the pattern too, where its entries mean nothing.

        Products with the seeds take the place of a gather, whose derivative would be a scatter.
        """
        rows = compressed.reshape(self.products, -1)
        if not np.array_equal(self.seeds, np.eye(self.products)):
            rows = dot(jnp.asarray(self.seeds.T, compressed.dtype), rows)
        return rows.T if self.forward else rows


def colour(pattern: Pattern) -> Colouring:
    """The colouring of the fewer products, by columns or by rows."""
    rows, columns = pattern.shape
    of_columns = _greedy(pattern.transposed())
    # No two entries of a column are in rows of one colour: rows need at least as many colours as the fullest column has
    # entries.
    fewest = np.bincount(pattern.columns, minlength=1).max(initial=0)
    of_rows = _greedy(pattern) if fewest < of_columns.max() + 1 else None
    forward = of_rows is None or of_columns.max() <= of_rows.max()
    colours = of_columns if of_rows is None or forward else of_rows
    seeds = np.zeros((colours.max() + 1, len(colours)))
    seeds[colours, np.arange(len(colours))] = 1.0
    row, column = pattern.rows.astype(int), pattern.columns.astype(int)
    index = colours[column] * rows + row if forward else colours[row] * columns + column
    return Colouring(forward, seeds, index)


def _greedy(pattern: Pattern) -> np.ndarray:
    """A colour for each row, so that rows of a colour share no column; the fullest first."""
    members, places = pattern.shape
    starts, entries = pattern.row_starts.tolist(), pattern.columns.tolist()
    counts = np.diff(pattern.row_starts)
    order = np.argsort(-counts, kind="stable")
    if (np.bincount(pattern.columns, minlength=1) == members).any():  # all rows share a column
        return np.argsort(order)
    colours = np.zeros(members, int)
    taken = [0] * places  # the colours at each place, as bits
    for member in order.tolist():
        own = entries[starts[member] : starts[member + 1]]
        barred = 0
        for place in own:
            barred |= taken[place]
        free = ~barred & (barred + 1)  # the lowest bit that is not set
        for place in own:
            taken[place] |= free
        colours[member] = free.bit_length() - 1
    return colours
