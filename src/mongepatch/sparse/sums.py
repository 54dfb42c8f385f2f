"""Sums of products at places known beforehand: sparse algebra as a few gathers, which compiled code does at once."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._linalg import dot
from mongepatch._typing import AnyVector

_LARGE = 600
"""Products from which on they are summed by a product with ones, which takes a call but adds several at a time."""

_ONE_EACH = jax.lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))


def take(vector: AnyVector, places: np.ndarray) -> jax.Array:
    """Elements at known places, which exist: one operation, where indexing would write half a dozen."""
    if places.size == 0:
        return jnp.zeros(places.shape, vector.dtype)
    at = np.asarray(places, np.int32)[..., None]
    return jax.lax.gather(vector, at, _ONE_EACH, (1,), mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def take_or_zero(vector: AnyVector, places: np.ndarray) -> jax.Array:
    """The same, with 0 for places below 0."""
    missing = places < 0
    found = take(vector, np.maximum(places, 0))
    return jnp.where(missing, 0.0, found) if missing.any() else found


class Sums:
    """Σ leftₐ right_b over pairs (a, b) of places, one list of pairs for each result.

    Results with about as many terms, up to the next power of 2, are made together, and come in that order: a scatter in
    its place would be several times slower.
    """

    def __init__(self, terms: Sequence[Sequence[tuple[int, int]]]) -> None:
        widths = np.array([0 if not pairs else 1 << (len(pairs) - 1).bit_length() for pairs in terms], int)
        self.order = np.argsort(widths, kind="stable")
        """Numbers of the results, as they come."""
        self._groups: list[tuple[np.ndarray, np.ndarray]] = []
        for width in np.unique(widths):
            rows = [terms[number] for number in self.order if widths[number] == width]
            pairs = np.array([[*row, *[(-1, -1)] * (width - len(row))] for row in rows], int).reshape(
                len(rows), width, 2
            )
            full = max((len(row) for row in rows), default=0)
            self._groups.append((pairs[:, :full, 0], pairs[:, :full, 1]))

    def __call__(self, left: AnyVector, right: AnyVector) -> AnyVector:
        """All sums."""
        if not self._groups:
            return jnp.zeros(0, left.dtype)
        return jnp.concatenate([_sums(left, right, *places) for places in self._groups])


def _sums(left: AnyVector, right: AnyVector, left_at: np.ndarray, right_at: np.ndarray) -> AnyVector:
    if left_at.shape[1] == 0:
        return jnp.zeros(len(left_at), left.dtype)
    products = take(left, np.maximum(left_at, 0)) * take(right, np.maximum(right_at, 0))
    if (left_at < 0).any():
        products = jnp.where(left_at < 0, 0.0, products)
    if left_at.shape[1] == 1:
        return products[:, 0]
    if left_at.size < _LARGE:
        return products.sum(1)
    return dot(products, jnp.ones(left_at.shape[1], products.dtype))
