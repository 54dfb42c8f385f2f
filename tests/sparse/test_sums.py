"""Elements and sums at known places, against what indexing gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mongepatch.sparse.sums import Moves, Sums, take, take_or_zero

rng = np.random.default_rng(5)
REGULAR = {
    "slice": np.arange(3, 9),
    "every other": np.arange(1, 10, 2),
    "reversed": np.arange(9, 2, -3),
    "one element": np.full(4, 7),
    "repeat": np.repeat(np.arange(2, 6), 3),
    "tile": np.tile(np.arange(2, 6), 3),
    "transposed": np.arange(12).reshape(3, 4).T,
    "overlapping": np.array([0, 1, 1, 2, 2, 3]),
    "two runs": np.array([11, 0, 1, 2, 3, 4]),
    "blocks": np.array([1, 2, 5, 6, 9, 10]),
}
IRREGULAR = {"any": rng.integers(12, size=200), "permutation": rng.permutation(200)}


@pytest.mark.parametrize("name", [*REGULAR, *IRREGULAR])
def test_elements_and_their_derivatives(name):
    places = (REGULAR | IRREGULAR)[name]
    vector, weights = rng.normal(size=max(12, places.max() + 1)), rng.normal(size=places.shape)

    @jax.jit
    def looked_at(vector, weights):
        taken, pull = jax.vjp(lambda v: take(v, places), vector)
        of_two = jax.vmap(lambda v: take(v, places))(jnp.stack([vector, 2 * vector]))
        return taken, pull(weights)[0], of_two[1], jax.jvp(lambda v: take(v, places), (vector,), (vector,))[1]

    taken, pulled, doubled, pushed = looked_at(vector, weights)
    expected = np.zeros(vector.shape)
    np.add.at(expected, places, weights)
    assert np.array_equal(taken, vector[places])
    assert np.allclose(pulled, expected)
    assert np.array_equal(doubled, 2 * vector[places])
    assert np.array_equal(pushed, vector[places])


@pytest.mark.parametrize("name", REGULAR)
def test_regular_places_are_slices(name):
    program = str(jax.make_jaxpr(jax.grad(lambda v: (take(v, REGULAR[name]) ** 2).sum()))(jnp.ones(12)))
    assert "gather" not in program
    assert "scatter" not in program


@pytest.mark.parametrize("name", IRREGULAR)
def test_irregular_places_are_never_scattered(name):
    gradient = jax.jit(jax.vmap(jax.grad(lambda v: (take(v, IRREGULAR[name]) ** 2).sum())))
    assert " scatter(" not in gradient.lower(jnp.ones((2, 200))).compile().as_text()


def test_missing_places_are_zero():
    vector = jnp.arange(1.0, 7.0)
    assert take_or_zero(vector, np.array([[-1, 2], [0, -1]])).tolist() == [[0.0, 3.0], [1.0, 0.0]]
    assert Moves(4, np.array([1, 1, 3]), np.array([0, 5, 2]))(vector).tolist() == [0.0, 7.0, 0.0, 3.0]


SUMS = {
    "irregular": rng.integers(9, size=(200, 3)),
    "few": rng.integers(9, size=(5, 3)),
    "one sum": np.stack([np.zeros(900, int), np.arange(900), np.arange(900)], axis=1),
    "matrix product": np.array(
        [(4 * i + j, 5 * i + k, 5 * j + k) for i in range(3) for j in range(4) for k in range(5)]
    ),
    "empty": np.zeros((0, 3), int),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products(name):
    terms = SUMS[name]
    left, right = (rng.normal(size=max(terms[:, k].max(initial=0) + 1, 2)) for k in (1, 2))
    sums = Sums(30, terms)
    expected = np.zeros(30)
    np.add.at(expected, terms[:, 0], left[terms[:, 1]] * right[terms[:, 2]])
    assert np.allclose(jax.jit(sums)(left, right), expected)
    gradient = jax.jit(jax.grad(lambda x, y: sums(x, y) @ np.arange(30.0)))(left, right)
    expected = np.zeros(left.shape)
    np.add.at(expected, terms[:, 1], right[terms[:, 2]] * terms[:, 0])
    assert np.allclose(gradient, expected)
