"""What is decided about whitened coordinates beforehand: which coordinates are inner, and how P(ψ) is taken apart."""

import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector
from mongepatch.coordinates.algebra import Algebra, DenseAlgebra, SparseAlgebra
from mongepatch.program.zeros import known_zeros
from mongepatch.sparse.colouring import Colouring, colour
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.sums import take
from mongepatch.targets.inner import InnerCoordinates

_MOST_CORE, _MOST_CORE_OF_SHARED_SCALES = 16, 64
"""Coordinates that data may leave to a dense Cholesky factor, in general and where they share few scales. Beyond, data
counts coordinate by coordinate. Crossed effects with five scales for 43 coordinates make six times the effective draws
with the factor; in regressions with a horseshoe prior, a scale for each, it costs half of the speed and gains nothing.
"""
_FEW_PAIRS, _MOST_PAIRS = 2_000, 500_000
"""Products in BᵀB up to which sparse sums are always fast enough, and beyond which their places take too much room,
unless B itself would take more."""


class WhiteningPlan:
    """Which coordinates are whitened given which, and the algebra of that. Plans of equal patterns are equal.

    Args:
        structure: the inner coordinates.
        dimension: the number of all coordinates.
    """

    def __init__(self, structure: InnerCoordinates, dimension: int) -> None:
        self.inner = inner = structure.inner
        self.dimension, self.scaled = dimension, structure.scaled
        self.outer = np.setdiff1d(np.arange(dimension), inner)
        self.merge = np.argsort(np.concatenate([self.outer, inner]))
        """Where each coordinate is found in the outer followed by the inner ones."""
        pattern, of_data = structure.latent_pattern.of_columns(inner), structure.data_pattern.of_columns(inner)
        self.colouring = colour(pattern)
        self.data_pattern = of_data
        """Where the Jacobian of the data's residuals by inner coordinates may differ from 0."""
        self.data_colouring = colour(of_data) if len(of_data) else None
        """How it is made; None where it is 0."""
        ends = np.cumsum([0, *structure.sizes])
        self.data_rows = tuple(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
        """First and last row of each observed variable."""
        self.algebra, self.couples_data = _algebra(pattern, self.colouring, of_data, len(self.outer))
        at_origin = known_zeros(structure.latent, np.isin(np.arange(dimension), inner))
        self.has_offset = not at_origin[np.diff(pattern.row_starts) > 0].all()
        """Whether a(ψ), the latent residuals at θ = 0, may differ from 0 where these know θ: not if all means are 0, or
        inner themselves."""
        self._key = (dimension, inner.tobytes(), self.scaled, self.data_rows, pattern, of_data, self.has_offset)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WhiteningPlan) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def join(self, outer: AnyVector, inner: AnyVector) -> AnyVector:
        """A flat position from its outer and its inner coordinates."""
        return take(jnp.concatenate([outer, inner]), self.merge)

    def split(self, position: AnyVector) -> tuple[AnyVector, AnyVector]:
        """The outer and the inner coordinates of a flat position."""
        return take(position, self.outer), take(position, self.inner)


def _algebra(pattern: Pattern, colouring: Colouring, of_data: Pattern, num_outer: int) -> tuple[Algebra, bool]:
    """The algebra of P, and whether data may couple coordinates in it that latent residuals do not."""
    counts = np.diff(pattern.row_starts)
    pairs, entries = int((counts**2).sum()), int((counts > 0).sum()) * pattern.shape[1]
    # A hierarchy of 100,000 groups has many pairs too, but B as a matrix would have far more entries.
    mostly_full = 2 * pairs > entries * pattern.shape[1]
    if (pairs > _MOST_PAIRS and pairs > entries) or (pairs > _FEW_PAIRS and mostly_full):
        return DenseAlgebra(pattern, colouring), True
    algebra = SparseAlgebra(pattern, colouring, of_data.gram())
    core = len(algebra.elimination.core)
    if core <= (_MOST_CORE_OF_SHARED_SCALES if 2 * num_outer < core else _MOST_CORE):
        return algebra, True
    diagonal = np.arange(pattern.shape[1])
    return SparseAlgebra(pattern, colouring, Pattern((len(diagonal), len(diagonal)), diagonal, diagonal)), False
