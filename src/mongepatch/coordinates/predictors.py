"""From what data says about linear predictors η to what it says about inner coordinates θ, as a function of ψ.

Predictors are affine in θ, η = J(ψ)θ + η₀(ψ). Data's information W and vector b about η, which do not change with ψ,
are JᵀWJ and Jᵀ(b − Wη₀) about θ.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from mongepatch._linalg import dot
from mongepatch._typing import AnyVector
from mongepatch.sparse.colouring import colour
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.plan import places_among
from mongepatch.sparse.sums import Sums, take

_FEW_TERMS, _SPARSE = 200, 1 / 64
"""Products in Jᵀ(WJ) up to which sparse sums are always fast enough, and the fraction of those of dense matrices from
which on dense ones are multiplied."""


class PredictorPlan:
    """How the information about predictors becomes one about inner coordinates.

    Args:
        pattern: where J, [predictors, inner coordinates], may differ from 0.
        information: where W, [predictors, predictors], may differ from 0; symmetric.
        rows: row of each entry of JᵀWJ that is wanted.
        columns: its column.
    """

    def __init__(self, pattern: Pattern, information: Pattern, rows: np.ndarray, columns: np.ndarray) -> None:
        self._pattern, self._information = pattern, information
        self._colouring = colour(pattern)
        self._wanted = rows * pattern.shape[1] + columns
        product = information.times(pattern)  # WJ
        terms = int((np.diff(pattern.row_starts) * np.diff(product.row_starts)).sum())
        self._is_dense = terms > max(_FEW_TERMS, _SPARSE * pattern.shape[0] * pattern.shape[1] ** 2)
        if not self._is_dense:
            self._plan_sums(product)

    def _plan_sums(self, product: Pattern) -> None:
        of_j, of_w, index = self._pattern, self._information, self._colouring.index
        count, size = of_j.shape
        entry, other = of_j.entries_in(of_w.columns)
        keys = product.rows.astype(int) * size + product.columns  # sorted
        place = np.searchsorted(keys, of_w.rows[entry].astype(int) * size + of_j.columns[other])
        self._product = Sums(len(product), _by_result(place, entry, index[other]))
        entry, other = product.entries_in(of_j.rows)
        at = places_among(self._wanted, of_j.columns[entry].astype(int) * size + product.columns[other])
        inside = at >= 0
        self._entries = Sums(len(self._wanted), _by_result(at[inside], index[entry[inside]], other[inside]))
        self._back = Sums(size, _by_result(of_j.columns.astype(int), index, of_j.rows.astype(int)))
        self._along = Sums(count, _by_result(of_w.rows.astype(int), np.arange(len(of_w)), of_w.columns.astype(int)))

    def at(
        self, predictors: Callable[[AnyVector], AnyVector], origin: AnyVector, matrix: AnyVector, vector: AnyVector
    ) -> tuple[AnyVector, AnyVector]:
        """Entries of JᵀWJ, and Jᵀ(b − Wη₀).

        Args:
            predictors: η as a function of θ.
            origin: θ = 0.
            matrix: entries of W.
            vector: b.
        """
        offset, jacobian = predictors(origin), self._colouring.compressed(predictors, origin)
        if not self._is_dense:
            entries = self._entries(jacobian, self._product(matrix, jacobian))
            return entries, self._back(jacobian, vector - self._along(matrix, offset))
        count = self._pattern.shape[0]
        J = jnp.where(self._pattern.dense(), self._colouring.expanded(jacobian), 0.0)
        places = np.full((count, count), len(self._information))
        places[self._information.rows, self._information.columns] = np.arange(len(self._information))
        W = take(jnp.append(matrix, 0.0), places)
        return take(dot(J.T, dot(W, J)).ravel(), self._wanted), dot(J.T, vector - dot(W, offset))


def _by_result(results: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Terms of a sum, regular ones in a row."""
    return np.stack([results, left, right], axis=1)[np.lexsort((results, right, left))]
