"""A derivative in reverse by hand against that of the same elimination, operation by operation."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_elimination import PATTERNS

from mongepatch.program import jit
from mongepatch.sparse.adjoint import draw_with_log_det
from mongepatch.sparse.elimination import Elimination
from mongepatch.sparse.pattern import Pattern

RNG = np.random.default_rng(6)


def usual(elimination, parts, vector, noise):
    """The same without a derivative by hand."""
    factored, _ = elimination.factor_parts(parts)
    return elimination.draw(factored, vector, noise), elimination.log_det(factored)


@pytest.mark.parametrize(
    ("name", "rows"), [("arrow", True), ("arrow with a core", False), ("walk", False), ("slopes", False)]
)
def test_gradients_and_their_derivatives(name, rows):
    pattern, _ = PATTERNS[name]
    size = len(pattern)
    elimination = Elimination(Pattern.from_dense(pattern))
    symmetric = np.where(pattern, 0.3 * RNG.normal(size=(size, size)), 0.0)
    symmetric = jnp.asarray((symmetric + symmetric.T) / 2 + size * np.eye(size))
    eliminated, pivot_of, _ = elimination.first_level
    own, beside = (jnp.asarray(RNG.normal(size=len(part))) for part in (eliminated, pivot_of))
    vector, noise, weights, along = jnp.asarray(RNG.normal(size=(4, size)))

    def gradient(function, vector):
        def value(matrix, own, beside, vector, noise):
            entries = ((matrix + matrix.T) / 2)[elimination.rows, elimination.columns]
            parts = elimination.parts_of_sum([entries])
            parts = elimination.parts_of_rows([entries], own, beside) if rows else parts
            drawn, log_det = function(elimination, parts, vector, noise)
            return jnp.sin(drawn) @ weights - 0.7 * log_det

        return jax.value_and_grad(value, argnums=range(5))(symmetric, own, beside, vector, noise)

    @jit
    def with_change(vector):
        functions = draw_with_log_det, usual
        return [jax.jvp(partial(gradient, function), (vector,), (along,)) for function in functions]

    found, expected = with_change(vector)
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_a_small_core_calls_no_library():
    pattern, _ = PATTERNS["walk"]
    elimination = Elimination(Pattern.from_dense(pattern))
    entries, ones = jnp.ones(len(elimination.rows)), jnp.ones(len(pattern))

    def value(entries, vector):
        drawn, log_det = draw_with_log_det(elimination, elimination.parts_of_sum([entries]), vector, ones)
        return drawn.sum() + log_det

    assert elimination.levels
    assert elimination.core_of(elimination.factor_parts(elimination.parts_of_sum([entries]))[1]) is not None
    program = str(jax.make_jaxpr(jax.grad(value))(entries, ones))
    assert not any(call in program for call in ("dot_general[", "cholesky[", "triangular_solve["))
