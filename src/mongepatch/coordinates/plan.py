"""What is decided about whitened coordinates beforehand: which coordinates are inner, and how P(ψ) is taken apart."""

import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector
from mongepatch.coordinates.algebra import Algebra, DenseAlgebra, SparseAlgebra
from mongepatch.coordinates.predictors import PredictorPlan
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
        pattern, of_data, of_predictors = _by_inner(structure)
        self.colouring = colour(pattern)
        self.columns_of_jacobian = self.colouring.columns(pattern)
        """The inner coordinate that each place of the compressed B belongs to."""
        self.data_pattern = of_data
        """Where the Jacobian of the data's residuals may differ from 0, by inner coordinates or by predictors."""
        self.data_colouring = colour(of_data) if len(of_data) else None
        """How it is made; None where it is 0."""
        ends = np.cumsum([0, *structure.sizes])
        self.data_rows = tuple(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
        """First and last row of each observed variable."""
        self.predictors: PredictorPlan | None = None
        """How data knows the inner coordinates by linear predictors; None where it knows them by themselves."""
        coupled, alone = of_data.gram(), Pattern.diagonal(of_data.shape[1])
        if of_predictors is None:
            self.algebra, self.couples_data = _algebra(pattern, self.colouring, coupled, alone, len(self.outer))
            self.information_rows, self.information_columns = self.algebra.rows, self.algebra.columns
        else:
            back = of_predictors.transposed()
            through = back.times(coupled).times(of_predictors), back.times(of_predictors)
            self.algebra, self.couples_data = _algebra(pattern, self.colouring, *through, len(self.outer))
            information = coupled if self.couples_data else alone
            self.information_rows, self.information_columns = information.rows, information.columns
            self.predictors = PredictorPlan(of_predictors, information, self.algebra.rows, self.algebra.columns)
        self.num_informed = of_data.shape[1]
        """How many numbers data informs about: inner coordinates, or predictors."""
        at_origin = known_zeros(structure.latent, np.isin(np.arange(dimension), inner))
        self.has_offset = not at_origin[np.diff(pattern.row_starts) > 0].all()
        """Whether a(ψ), the latent residuals at θ = 0, may differ from 0 where these know θ: not if all means are 0, or
        inner themselves."""
        patterns = pattern, of_data, of_predictors
        self._key = (dimension, inner.tobytes(), self.scaled, self.data_rows, *patterns, self.has_offset)

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


def _by_inner(structure: InnerCoordinates) -> tuple[Pattern, Pattern, Pattern | None]:
    """Patterns of Jacobians by inner coordinates: of latent residuals, of the data's and of predictors.

    Where there are predictors, that of the data is by these.
    """
    latent, data, inner = structure.latent_pattern.of_columns(structure.inner), structure.data_pattern, structure.inner
    if structure.predictor_pattern is None:
        return latent, data.of_columns(inner), None
    return latent, data, structure.predictor_pattern.of_columns(inner)


def _algebra(
    pattern: Pattern, colouring: Colouring, coupled: Pattern, alone: Pattern, num_outer: int
) -> tuple[Algebra, bool]:
    """The algebra of P, and whether data may couple coordinates in it that latent residuals do not.

    Args:
        pattern: of B.
        colouring: of that pattern.
        coupled: the pattern of A.
        alone: the same where data counts number by number.
        num_outer: how many coordinates are outer.
    """
    counts = np.diff(pattern.row_starts)
    pairs, entries = int((counts**2).sum()), int((counts > 0).sum()) * pattern.shape[1]
    # A hierarchy of 100,000 groups has many pairs too, but B as a matrix would have far more entries.
    mostly_full = 2 * pairs > entries * pattern.shape[1]
    if (pairs > _MOST_PAIRS and pairs > entries) or (pairs > _FEW_PAIRS and mostly_full):
        return DenseAlgebra(pattern, colouring), True
    algebra = SparseAlgebra(pattern, colouring, coupled)
    core = len(algebra.elimination.core)
    if core <= (_MOST_CORE_OF_SHARED_SCALES if 2 * num_outer < core else _MOST_CORE):
        return algebra, True
    return SparseAlgebra(pattern, colouring, alone), False
