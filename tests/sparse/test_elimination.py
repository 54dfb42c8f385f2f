"""Systems of a known pattern, taken apart level by level, against dense algebra."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but

from mongepatch.program import jit
from mongepatch.sparse.elimination import Elimination
from mongepatch.sparse.pattern import Pattern

rng = np.random.default_rng(4)


def arrow(groups, hyper):
    pattern = np.eye(groups + hyper, dtype=bool)
    pattern[:, :hyper] = pattern[:hyper] = True
    return pattern


def band(size, hyper):
    pattern = arrow(size, hyper)
    for i in range(hyper, size + hyper - 1):
        pattern[i, i + 1] = pattern[i + 1, i] = True
    return pattern


def slopes(groups):
    """Two means, then two effects of each group."""
    pattern = np.kron(np.eye(groups + 1, dtype=bool), np.ones((2, 2), bool))
    pattern[:2] = pattern[:, :2] = True
    return pattern


def crossed(one, two, fraction):
    cells = rng.random((one, two)) < fraction
    return np.block([[np.eye(one, dtype=bool), cells], [cells.T, np.eye(two, dtype=bool)]])


def wide_band(size, width):
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= width


def random_pattern(size, fraction):
    pattern = rng.random((size, size)) < fraction
    return pattern | pattern.T | np.eye(size, dtype=bool)


PATTERNS = {
    "arrow": (arrow(12, 2), 0),
    "arrow with a core": (arrow(24, 10), 10),
    "walk": (band(17, 1), 0),
    "long walk": (band(40, 0), 0),
    "second order walk": (wide_band(25, 2), None),
    "slopes": (slopes(5), 0),
    "crossed": (crossed(30, 12, 0.5), 12),
    "crossed and irregular": (crossed(25, 20, 0.07), None),
    "sparse": (random_pattern(15, 0.08), None),
    "dense": (np.ones((12, 12), bool), 12),
    "small and dense": (np.ones((5, 5), bool), 0),
    "diagonal": (np.eye(6, dtype=bool), 0),
}


@pytest.mark.parametrize(
    "name",
    slow_but(PATTERNS, *(set(PATTERNS) - {"crossed", "crossed and irregular", "long walk", "second order walk"})),
)
def test_elimination_agrees_with_dense_algebra(name):
    pattern, core = PATTERNS[name]
    size = len(pattern)
    elimination = Elimination(Pattern.from_dense(pattern))
    assert core is None or len(elimination.core) == core
    at = elimination.rows, elimination.columns
    turned = np.where(pattern, 0.3 * rng.normal(size=(size, size)), 0.0) + size * np.eye(size)
    symmetric = (turned + turned.T) / 2
    b = jnp.asarray(rng.normal(size=size))

    @jax.jit
    def compute(symmetric, turned, transposed):
        one, two = elimination.factor(symmetric), elimination.factor(turned, transposed)
        root = jax.jacfwd(lambda z: elimination.root(one, z))(b)
        back = elimination.root_transposed(one, elimination.draw(one, b, 2.0 * b) - elimination.solve(one, b)) / 2.0
        solved = elimination.solve(one, b), elimination.solve(two, b)
        return solved, (elimination.pivots(one), elimination.pivots(two)), root, back, elimination.inverse(one)

    solved, pivots, root, back, inverse = compute(
        *(jnp.asarray(matrix[at]) for matrix in (symmetric, turned, turned.T))
    )
    for matrix, x, found in zip((symmetric, turned), solved, pivots, strict=True):
        assert np.allclose(x, np.linalg.solve(matrix, b), rtol=1e-11)
        assert np.isclose(np.log(np.abs(found)).sum(), np.linalg.slogdet(matrix)[1], rtol=1e-12)
    assert np.allclose(root @ root.T, np.linalg.inv(symmetric), rtol=1e-11, atol=1e-13)
    assert np.allclose(back, b, rtol=1e-11)
    assert np.allclose(inverse, np.linalg.inv(symmetric)[at], rtol=1e-10, atol=1e-13)


def objective(elimination, b):
    """What coordinates ask of an elimination, as a function of the entries."""

    def value(entries):
        factored = elimination.factor(entries)
        solved = elimination.solve(factored, b) + elimination.root(factored, jnp.flip(b))
        return -0.5 * jnp.log(elimination.pivots(factored)).sum() + solved @ jnp.cos(b)

    return value


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["arrow with a core", "walk", "slopes", "crossed and irregular", "dense"], "arrow with a core", "walk", "slopes"
    ),
)
def test_gradients_agree_with_differences(name):
    pattern, _ = PATTERNS[name]
    elimination = Elimination(Pattern.from_dense(pattern))
    at, size = (elimination.rows, elimination.columns), len(pattern)
    change = np.where(pattern, rng.normal(size=(size, size)), 0.0)
    change = (change + change.T)[at]
    entries = jnp.asarray((size * np.eye(size) + 0.3 * pattern)[at])
    value = jax.jit(objective(elimination, jnp.asarray(rng.normal(size=size))))
    ahead, behind = (value(entries + sign * 1e-4 * change) for sign in (1, -1))
    along = (ahead - behind) / 2e-4
    assert np.isclose(jit(jax.vmap(jax.grad(value)))(entries[None])[0] @ change, along, rtol=1e-6)
    assert np.isclose(jax.jvp(value, (entries,), (jnp.asarray(change),))[1], along, rtol=1e-6)


def operations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for parameter in jax.tree.leaves(equation.params, is_leaf=lambda part: hasattr(part, "eqns")):
            if hasattr(parameter, "eqns"):
                yield from operations(getattr(parameter, "jaxpr", parameter))


@pytest.mark.parametrize(
    "pattern",
    [arrow(100, 1), arrow(100, 11), slopes(20), band(200, 0), crossed(30, 12, 0.5)],
    ids=["groups", "groups and regression", "slopes", "walk", "crossed"],
)
def test_regular_patterns_take_no_gather_and_no_scatter(pattern):
    elimination = Elimination(Pattern.from_dense(pattern))
    value = objective(elimination, jnp.ones(len(pattern)))
    traced = jax.make_jaxpr(jax.vmap(jax.value_and_grad(value)))(jnp.ones((4, len(elimination.rows))))
    assert not {"gather", "scatter", "scatter-add", "sort"} & set(operations(traced.jaxpr))


def test_a_random_walk_takes_as_many_levels_as_its_length_has_halves():
    elimination = Elimination(Pattern.from_dense(band(64, 0)))
    assert len(elimination.levels) <= 8
    assert len(elimination.core) == 0


def test_a_nearly_full_matrix_is_left_to_lapack_as_a_whole():
    """Two kinds of 15 coordinates, of which one is neighbour to all: levels would go on with the other."""
    matrix = np.ones((30, 30), bool)
    matrix[15:, 15:] = np.eye(15)
    elimination = Elimination(Pattern.from_dense(matrix))
    assert not elimination.levels
    assert len(elimination.core) == 30


def test_entries_in_another_order_are_found():
    pattern = Pattern.from_dense(arrow(6, 2))
    elimination = Elimination(pattern)
    matrix = rng.normal(size=pattern.shape)
    matrix = np.where(pattern.dense(), matrix + matrix.T, 0.0)
    upper = pattern.rows <= pattern.columns
    rows, columns = pattern.rows[upper], pattern.columns[upper]
    places = elimination.places(rows, columns)
    assert np.array_equal(
        np.where(places < 0, 0.0, matrix[rows, columns][places]), matrix[elimination.rows, elimination.columns]
    )


@pytest.mark.slow
def test_ten_thousand_groups_are_taken_apart_at_once():
    size = 10_003
    groups, means = np.arange(3, size), np.arange(3)
    rows = np.concatenate([np.arange(size), np.tile(groups, 3), np.repeat(means, 3)])
    columns = np.concatenate([np.arange(size), np.repeat(means, len(groups)), np.tile(means, 3)])
    elimination = Elimination(Pattern((size, size), rows, columns))
    diagonal = jnp.where(elimination.rows == elimination.columns, jnp.where(elimination.rows < 3, size, 2.0), 0.0)
    solved = elimination.solve(elimination.factor(diagonal + 0.5), jnp.ones(size))
    # All groups are alike: 2.5 x + 0.5 Σ y = 1 and size y + 0.5 Σ y + 0.5 Σ x = 1.
    x, y = np.linalg.solve([[2.5, 1.5], [0.5 * len(groups), size + 1.5]], np.ones(2))
    assert np.allclose(solved[3:], x)
    assert np.allclose(solved[:3], y)
