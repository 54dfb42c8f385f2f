"""Jacobians from few products: columns that share no row are found together, in one product with their sum.

Of the columns (forward products) and the rows (reverse products) those are coloured that need fewer colours.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._linalg import dot
from mongepatch._typing import Compressed, Jacobian, Vector
from mongepatch.program import TracedFunction


@dataclass(frozen=True)
class Colouring:
    """How a Jacobian of a known pattern is compressed into a vector."""

    forward: bool
    seeds: np.ndarray
    """Directions of the products, [colours, columns or rows]: 1 for the members of a colour."""
    index: np.ndarray
    """Where each entry of the Jacobian, [rows, columns], is found in the vector. It means nothing off the pattern."""

    @property
    def products(self) -> int:
        """How many products make the Jacobian."""
        return len(self.seeds)

    def compressed(self, residuals: TracedFunction, position: Vector) -> Compressed:
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


def colour(pattern: np.ndarray) -> Colouring:
    """The colouring of the fewer products, by columns or by rows."""
    rows, columns = pattern.shape
    of_columns, of_rows = _greedy(pattern.T), _greedy(pattern)
    forward = of_columns.max() <= of_rows.max()
    colours = of_columns if forward else of_rows
    seeds = np.eye(colours.max() + 1)[:, colours]
    row, column = np.indices(pattern.shape)
    index = colours[column] * rows + row if forward else colours[row] * columns + column
    return Colouring(bool(forward), seeds, index)


def _greedy(members: np.ndarray) -> np.ndarray:
    """A colour for each member, [members, places], so that members of a colour share no place; the fullest first."""
    colours = np.zeros(len(members), int)
    taken = [0] * members.shape[1]  # the colours at each place, as bits
    for member in np.argsort(-members.sum(1), kind="stable"):
        places = np.flatnonzero(members[member]).tolist()
        barred = 0
        for place in places:
            barred |= taken[place]
        free = ~barred & (barred + 1)  # the lowest bit that is not set
        for place in places:
            taken[place] |= free
        colours[member] = free.bit_length() - 1
    return colours
