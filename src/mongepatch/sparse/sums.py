"""Elements and sums of products at places known beforehand: sparse algebra as slices, reshapes and sums.

What no slice describes is gathered. A gather's own derivative in reverse would be a scatter, which compiled code does
one element after the other: here it is a gather as well, in which every element knows where its terms are.
"""

from collections.abc import Callable, Sequence
from string import ascii_letters

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector
from mongepatch.sparse.nests import Nest, Pieces, Placed, find_nests, put, total

_MANY = 600
"""Products from which on they are summed by a call, which takes longer to begin but adds several at a time."""

_ONE_EACH = jax.lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))


def take(vector: AnyVector, places: np.ndarray) -> jax.Array:
    """Elements at known places, which exist."""
    flat = places.reshape(-1)
    if flat.size == 0:
        return jnp.zeros(places.shape, vector.dtype)
    moves = Moves(len(flat), np.arange(len(flat)), flat)
    return (_gathered(vector, flat) if moves.irregular else moves(vector)).reshape(places.shape)


def take_or_zero(vector: AnyVector, places: np.ndarray) -> jax.Array:
    """The same, with 0 for places below 0."""
    flat = places.reshape(-1)
    inside = np.flatnonzero(flat >= 0)
    if len(inside) == len(flat):
        return take(vector, places)
    return Moves(len(flat), inside, flat[inside])(vector).reshape(places.shape)


class Moves:
    """Elements of a vector added up in other places: one result place for each place of the vector.

    Args:
        size: number of results. Those that get nothing are 0.
        results: places of the results.
        places: of the elements that go there.
    """

    def __init__(self, size: int, results: np.ndarray, places: np.ndarray) -> None:
        pairs = np.stack([results, places], axis=1)
        self._size = size
        self._nests, irregular = find_nests(pairs)
        self._results, self._places = pairs[irregular].T
        self.irregular = len(irregular) > 0
        """Whether some elements are gathered."""
        self._in_a_row = bool(self._nests) and not len(irregular) and _in_a_row(self._nests, size)

    def __call__(self, vector: AnyVector) -> AnyVector:
        """All results."""
        pieces = Pieces(vector, self._nests, 1)
        views = [jnp.broadcast_to(pieces.view(nest), nest.sizes) for nest in self._nests]
        if self._in_a_row:
            parts = [view.reshape(-1) for view in views]
            return parts[0] if len(parts) == 1 else jnp.concatenate(parts)
        placed = []
        for nest, taken in zip(self._nests, views, strict=True):
            summed = tuple(axis for axis, stride in enumerate(nest.along(0)) if not stride)
            placed.append(put(taken.sum(summed) if summed else taken, nest, 0))
        if len(self._places):
            placed.append(Placed(_added(_gathered(vector, self._places), self._results, self._size), 0))
        return total(placed, self._size, vector.dtype)


class Permutation:
    """The elements of a vector in another order. Its derivative in reverse is the inverse permutation.

    Args:
        places: of the elements, in the new order.
    """

    def __init__(self, places: np.ndarray) -> None:
        self._places, self._back = places, np.argsort(places)
        self._trivial = np.array_equal(places, self._back) and np.array_equal(places, np.arange(len(places)))

    def __call__(self, vector: AnyVector) -> AnyVector:
        """In the new order."""
        return self._move(vector, self._places, self._back)

    def inverse(self, vector: AnyVector) -> AnyVector:
        """Back in the old order."""
        return self._move(vector, self._back, self._places)

    def _move(self, vector: AnyVector, places: np.ndarray, back: np.ndarray) -> AnyVector:
        if self._trivial:
            return vector

        def forward(_: object, v: AnyVector) -> AnyVector:
            return take(v, places)

        def backward(_: object, v: AnyVector) -> AnyVector:
            return take(v, back)

        # JAX lets a linear system have a transpose of its own: this one's matrix is the inverse permutation.
        return jax.lax.custom_linear_solve(lambda v: take(v, back), vector, forward, backward)


class Sums:
    """Σ leftₐ right_b over pairs (a, b) of places, for each of several results.

    Args:
        size: number of results. Those without terms are 0.
        terms: place of the result, of the left and of the right factor, [terms, 3]; regular ones in a row.
        nests: more of them, known to be regular.
    """

    def __init__(self, size: int, terms: np.ndarray, nests: Sequence[Nest] = ()) -> None:
        self._size = size
        found, irregular = find_nests(terms)
        self._nests = [*nests, *found]
        self._results, self._lefts, self._rights = terms[irregular].T

    def __call__(self, left: AnyVector, right: AnyVector) -> AnyVector:
        """All sums."""
        lefts, rights = Pieces(left, self._nests, 1), Pieces(right, self._nests, 2)
        parts = [put(_products(lefts.view(nest), rights.view(nest), nest), nest, 0) for nest in self._nests]
        if len(self._results):
            products = _gathered(left, self._lefts) * _gathered(right, self._rights)
            parts.append(Placed(_added(products, self._results, self._size), 0))
        return total(parts, self._size, left.dtype)


def _products(left: jax.Array, right: jax.Array, nest: Nest) -> jax.Array:
    """Products of one nest, summed over the axes along which the result stays where it is."""
    of_result, of_left, of_right = (nest.along(number) for number in range(3))
    summed = [axis for axis, stride in enumerate(of_result) if not stride]
    outer = any(a and not b for a, b in zip(of_left, of_right, strict=True)) and any(
        b and not a for a, b in zip(of_left, of_right, strict=True)
    )
    common = [axis for axis in summed if of_left[axis] and of_right[axis]]
    if common and (outer or nest.terms >= _MANY):
        names = ascii_letters[: len(nest.sizes)]
        operands, labels = [], []
        for factor, strides in ((left, of_left), (right, of_right)):
            axes = [axis for axis, stride in enumerate(strides) if stride]
            operands.append(factor.reshape([nest.sizes[axis] for axis in axes]))
            labels.append("".join(names[axis] for axis in axes))
        kept = "".join(names[axis] for axis in range(len(nest.sizes)) if axis not in summed)
        present = "".join(name for name in kept if name in labels[0] + labels[1])
        found = jnp.einsum(f"{labels[0]},{labels[1]}->{present}", *operands, precision=jax.lax.Precision.HIGHEST)
        times = int(np.prod([nest.sizes[axis] for axis in summed if not (of_left[axis] or of_right[axis])], dtype=int))
        found = found.reshape([nest.sizes[names.index(name)] if name in present else 1 for name in kept])
        found = found if times == 1 else found * times
    else:
        products = left * right
        found = jnp.broadcast_to(products, nest.sizes).sum(summed) if summed else products
    return jnp.broadcast_to(found, [nest.sizes[axis] for axis in range(len(nest.sizes)) if axis not in summed])


def _in_a_row(nests: list[Nest], size: int) -> bool:
    """Whether the results of the nests are all places from 0 to the size, one after the other."""
    filled = 0
    for nest in nests:
        sizes = [*nest.sizes[1:], 1]
        expected = tuple(np.cumprod(sizes[::-1])[::-1].tolist()) if nest.sizes else ()
        if nest.starts[0] != filled or nest.along(0) != expected:
            return False
        filled += nest.terms
    return filled == size


def _gathered(vector: AnyVector, places: np.ndarray) -> jax.Array:
    """Elements at any places."""
    groups = _Groups(places, len(vector))
    return _linear(lambda v: _gather(v, places), groups, vector, len(places))


def _added(values: AnyVector, places: np.ndarray, size: int) -> jax.Array:
    """Sums of the values of each place."""
    return _linear(_Groups(places, size), lambda v: _gather(v, places), values, size)


def _linear(
    apply: Callable[..., jax.Array], transpose: Callable[..., jax.Array], vector: AnyVector, size: int
) -> AnyVector:
    """A linear map with a transpose of its own, by the system (v, u − Av) = (b, 0), whose solution is (b, Ab).

    JAX has no public way to give a function a transpose that works under `vmap`, but it has one for a linear system.
    """
    given = len(vector)

    def system(both: jax.Array) -> jax.Array:
        return jnp.append(both[:given], both[given:] - apply(both[:given]))

    def solve(_: object, both: jax.Array) -> jax.Array:
        return jnp.append(both[:given], both[given:] + apply(both[:given]))

    def transposed(_: object, both: jax.Array) -> jax.Array:
        return jnp.append(both[:given] + transpose(both[given:]), both[given:])

    right = jnp.append(vector, jnp.zeros(size, vector.dtype))
    return jax.lax.custom_linear_solve(system, right, solve, transposed)[given:]


def _gather(vector: AnyVector, places: np.ndarray) -> jax.Array:
    at = np.asarray(places, np.int32)[..., None]
    return jax.lax.gather(vector, at, _ONE_EACH, (1,), mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS)


class _Groups:
    """Sums of all values of each place by gathers: places with about as many values, up to a power of 2, together."""

    def __init__(self, places: np.ndarray, size: int) -> None:
        counts = np.bincount(places, minlength=size)
        widths = np.where(counts == 0, 0, 1 << np.ceil(np.log2(np.maximum(counts, 1))).astype(int))
        values = np.argsort(places, kind="stable")
        starts = np.cumsum(counts) - counts
        self._tables, self._back, filled = [], np.full(size, -1), 0
        for width in np.unique(widths[widths > 0]):
            members = np.flatnonzero(widths == width)
            inside = np.arange(width) < counts[members, None]
            at = np.minimum(starts[members, None] + np.arange(width), len(places) - 1)
            self._tables.append(np.where(inside, values[at], len(places)))
            self._back[members] = filled + np.arange(len(members))
            filled += len(members)
        self._back = np.where(self._back < 0, filled, self._back)

    def __call__(self, values: AnyVector) -> jax.Array:
        """The sums, 0 where there is none."""
        values = jnp.append(values, jnp.zeros(1, values.dtype))
        sums = [_gather(values, table).sum(1) for table in self._tables]
        return _gather(jnp.concatenate([*sums, jnp.zeros(1, values.dtype)]), self._back)
