"""Patterns of Jacobians and their colours, against the derivatives themselves."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.linalg import solve_triangular

from mongepatch.metrics.patch.residuals import Residuals
from mongepatch.program import trace
from mongepatch.sparse import detection
from mongepatch.sparse.colouring import colour
from mongepatch.sparse.detection import jacobian_pattern
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.plan import JacobianPlan

GROUP, DESIGN = np.array([0, 2, 1, 1]), np.array([[1.0, 0, 0, 2], [0, 0, 3, 0]])


@jax.custom_jvp
def rounded(x):
    return jnp.floor(x).astype(int).astype(float)


rounded.defjvp(lambda primals, tangents: (rounded(*primals), tangents[0]))

LOWER = jnp.tril(jnp.ones((2, 2)))
FUNCTIONS = {
    "slices": lambda x: jnp.concatenate([x[1:] * x[:-1], x[::-1][:2]]),
    "gather": lambda x: jnp.sin(x[GROUP]) + x[3],
    "negative index": lambda x: x[jnp.array([-1, 0])],
    "design": lambda x: jnp.exp(DESIGN @ x),
    "unpacked": lambda x: jnp.stack([pair[0] * pair[1] for pair in x.reshape(2, 2)]),
    "columns": lambda x: jnp.stack([x[:2], jnp.exp(x[1:3])], axis=1).ravel(),
    "tiles": lambda x: jnp.tile(x[:2], 3),
    "outer": lambda x: (x[:2, None] * x[None, 2:]).ravel(),
    "matrix product": lambda x: (x[:4].reshape(2, 2) @ jnp.array([[1.0, 0.0], [0.0, 1.0]])).T.ravel(),
    "sums": lambda x: jnp.stack([x[:2].sum(), x[2:].max(), jax.nn.logsumexp(x[1:3]), x[0]]),
    "cumulative": lambda x: jnp.cumsum(x**2),
    "inner function": lambda x: jax.jit(lambda y: jax.nn.softplus(y) + jnp.where(y > 0, y, 0.0))(x[:3]),
    "branch": lambda x: jax.lax.cond(x[0] > 0, lambda y: y[:2], lambda y: y[2:], x),
    "padded": lambda x: jnp.pad(x[:2], (1, 1)),
    "custom derivative": lambda x: rounded(x[:2]),
    "loop": lambda x: jax.lax.fori_loop(0, 2, lambda _, y: y * x, x)[:2],
    "scan": lambda x: jax.lax.scan(lambda last, now: (now, now * last), x[3], x[:3])[1],
    "reversed scan": lambda x: jnp.append(*jax.lax.scan(lambda s, now: (s + now, s), 0.0, x[:3], reverse=True)[::-1]),
    "scan that counts": lambda x: jax.lax.scan(lambda i, _: (i + 1, x[i] * x[3 - i]), 1, None, 2)[1],
    "scan of known places": lambda x: jax.lax.scan(lambda s, i: (s, x[i] + s), x[2], GROUP)[1],
    "scan in a scan": lambda x: jax.lax.scan(
        lambda _, row: (0.0, jax.lax.scan(lambda s, y: (s + y, s * y), row[0], row)[1]), 0.0, x.reshape(2, 2)
    )[1].ravel(),
    "scan of constants": lambda x: x * jax.lax.scan(lambda s, y: (s, y), 0.0, jnp.array([1.0, 0.0, 2.0, 3.0]))[1],
    "empty scan": lambda x: jax.lax.scan(lambda s, y: (s + x[0], y), x[:2], x[:0])[0],
    "solve": lambda x: jnp.linalg.solve(jnp.eye(2) + jnp.outer(x[:2], x[:2]), x[2:]),
    "triangular systems": lambda x: solve_triangular(
        LOWER * jnp.exp(x[:2])[:, None, None], x[2:, None, None] * jnp.array([[1.0], [3.0]]), lower=True
    ).ravel(),
    "right sides": lambda x: solve_triangular(
        LOWER * jnp.exp(x[0]), x[1:] * jnp.array([[1.0], [3.0]]), lower=True
    ).T.ravel(),
    "factors": lambda x: jnp.linalg.cholesky(jnp.eye(2) + x[:, None, None] ** 2 * jnp.ones((2, 2))).ravel(),
    "constant": lambda x: jnp.ones(3),
    "mask": lambda x: x * jnp.array([1.0, 0.0, 1.0, 0.0]),
    "scatter": lambda x: jnp.zeros(5).at[jnp.array([3, 1])].set(x[:2]),
    "scatter over": lambda x: x.at[jnp.array([3, 1])].set(x[:2]),
    "scatter past the end": lambda x: jnp.zeros(3).at[jnp.array([1, 7])].add(x[:2]),
    "sums of groups": lambda x: jax.ops.segment_sum(jnp.exp(x), GROUP, 4),
    "sums of columns": lambda x: jnp.ones((2, 3)).at[:, jnp.array([2, 2])].add(x.reshape(2, 2) ** 2).ravel(),
    "scatter at a place": lambda x: jnp.zeros(3).at[(x[0] > 0).astype(int)].set(x[1]),
    "block": lambda x: jax.lax.dynamic_update_slice(x.reshape(2, 2), x[None, :2] * x[3], (1, 0)).ravel(),
}
WIDER = """
    branch, empty scan, factors, scan of constants, scatter at a place, scatter over, solve, matrix product
"""
EXACT = set(FUNCTIONS) - set(WIDER.strip().split(", "))


def pattern_of(function, dimension=4):
    program, _ = trace(function, jax.ShapeDtypeStruct((dimension,), float))
    return jacobian_pattern(program, dimension)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_entry_of_a_pattern_is_missed(name):
    pattern = pattern_of(FUNCTIONS[name]).dense()
    found, jacobian = np.zeros_like(pattern), jax.jit(jax.jacfwd(FUNCTIONS[name]))
    for x in np.random.default_rng(0).normal(size=(6, 4)):
        found |= np.asarray(jacobian(x)) != 0
    assert not (found & ~pattern).any()
    if name in EXACT:
        assert np.array_equal(found, pattern)


def test_a_derivative_of_its_own_that_reaches_further_makes_a_pattern_dense():
    @jax.custom_jvp
    def masked(x):
        return x * jnp.array([0.0, 1.0, 1.0, 1.0])

    masked.defjvp(lambda primals, tangents: (masked(*primals), jnp.flip(tangents[0])))
    plan = Residuals("residuals", masked).plan(4)
    assert plan.pattern.is_full
    assert not Residuals("residuals", lambda x: jax.nn.softplus(x)).plan(4).pattern.is_full


def test_a_pattern_holds_whatever_is_traced():
    """Places that are unknown when a pattern is read may be any."""

    def at_unknown_places(places):
        return jnp.asarray(pattern_of(lambda x: x[places] * 2.0).dense())

    assert jax.jit(at_unknown_places)(jnp.array([0, 2])).all()


def test_the_turns_of_a_long_loop_are_not_told_apart(monkeypatch):
    assert not pattern_of(FUNCTIONS["scan"]).is_full
    monkeypatch.setattr(detection, "_MOST_OPERATIONS", 2)
    assert pattern_of(FUNCTIONS["scan"]).is_full


@pytest.mark.parametrize("name", ["slices", "gather", "design", "outer", "sums", "scatter", "scan"])
def test_coloured_jacobians_are_jacobians(name):
    residuals = Residuals("residuals", FUNCTIONS[name]).traced(jax.ShapeDtypeStruct((4,), float))
    plan, x = residuals.plan(4), np.random.default_rng(1).normal(size=4)
    compressed = jax.jit(residuals.compressed)(x)
    expected = jax.jit(jax.jacfwd(FUNCTIONS[name]))(x)
    found = np.zeros(plan.pattern.shape)
    found[plan.pattern.rows, plan.pattern.columns] = compressed[plan.colouring.index]
    assert np.allclose(found, expected)
    assert np.allclose(np.where(plan.pattern.dense(), plan.colouring.expanded(compressed), 0.0), expected)


def test_rows_or_columns_are_coloured_whichever_are_fewer():
    arrow = np.eye(20, dtype=bool)
    arrow[:, 0] = True
    pattern = Pattern.from_dense(arrow)
    assert (colour(pattern).forward, colour(pattern).products) == (True, 2)
    assert (colour(pattern.transposed()).forward, colour(pattern.transposed()).products) == (False, 2)


def test_patterns_are_lists_of_places():
    matrix = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 1]], bool)
    pattern = Pattern((3, 3), np.array([2, 0, 0, 2, 0]), np.array([2, 1, 2, 0, 1]))
    assert np.array_equal(pattern.dense(), matrix)
    assert (pattern.rows.tolist(), pattern.columns.tolist()) == ([0, 0, 2, 2], [1, 2, 0, 2])
    assert np.array_equal(pattern.of_columns(np.array([0, 2])).dense(), matrix[:, [0, 2]])
    assert np.array_equal(pattern.of_rows(np.array([1, 2])).dense(), matrix[1:])
    assert np.array_equal(pattern.gram().dense(), (matrix.T.astype(int) @ matrix > 0) | np.eye(3, dtype=bool))
    assert pattern == Pattern.from_dense(matrix)
    assert pattern.union(Pattern.full((3, 3))).is_full
    assert len({pattern, Pattern.from_dense(matrix), pattern.transposed()}) == 2


@pytest.mark.slow
def test_ten_thousand_groups_are_planned_at_once():
    groups, observations = 10_000, 50_000
    group = np.arange(observations) % groups

    def residuals(x):
        mu, log_tau, log_sigma, theta = x[0], x[1], x[2], x[3:]
        return jnp.concatenate(
            [x[:3] / 3.0, (theta - mu) / jnp.exp(log_tau), (1.0 - theta[group]) / jnp.exp(log_sigma)]
        )

    started = time.perf_counter()
    pattern = pattern_of(residuals, groups + 3)
    plan = JacobianPlan(pattern)
    assert len(pattern) == 3 + 3 * groups + 2 * observations
    assert plan.colouring.products == 3
    assert plan.sparse is not None
    assert plan.sparse.elimination.core.size == 0
    assert time.perf_counter() - started < 30.0
