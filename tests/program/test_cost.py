"""What a program costs, before it is compiled."""

import jax
import jax.numpy as jnp
import pytest

from mongepatch.program import cost_of

X = jax.ShapeDtypeStruct((6,), float)
MATRIX = jax.ShapeDtypeStruct((6, 6), float)


def test_operations_are_counted_by_what_they_make():
    assert cost_of(lambda x: x + 1.0, X) == (1, 6.0)
    assert cost_of(lambda x: jnp.sin(x) + x, X) == (2, 12.0)


def test_products_and_factors_of_matrices_count_more():
    assert cost_of(lambda a: a @ a, MATRIX).executed == 6**3
    assert cost_of(jnp.linalg.cholesky, MATRIX).executed >= 6**3


def test_loops_are_compiled_once_and_run_often():
    def loop(length):
        return lambda x: jax.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=length)[0]

    short, long = cost_of(loop(10), X), cost_of(loop(1000), X)
    assert short.compiled == long.compiled
    assert long.executed == pytest.approx(100 * short.executed)
    assert cost_of(lambda x: jax.lax.while_loop(lambda c: c[0] < 9, jnp.sin, x), X).executed > 100


def test_inner_functions_count():
    inner = jax.jit(lambda x: jnp.sin(x) * 2.0)
    assert cost_of(inner, X).executed == cost_of(lambda x: jnp.sin(x) * 2.0, X).executed
