"""A linear function at two vectors: its values are those at each, and its products read each matrix once."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch.kernels.base import Setup
from mongepatch.kernels.lmc import LMC
from mongepatch.metrics import fitted
from mongepatch.program import at_two_vectors, trace_density, two_vectors

ROWS, COLUMNS = 300, 40
RNG = np.random.default_rng(3)
DESIGN, SMALL = RNG.normal(size=(ROWS, COLUMNS)), RNG.normal(size=(7, COLUMNS))


def hessian_times(density, position):
    """The linearisation of a gradient."""
    return jax.linearize(jax.grad(density), position)[1]


def observations_along_columns(x):
    return -jnp.logaddexp(0.0, x @ DESIGN.T.copy()).sum()


def observations_along_rows(x):
    return -jnp.logaddexp(0.0, DESIGN @ x).sum()


def in_inner_functions(x):
    return jax.jit(lambda y: jnp.tanh(jax.jit(lambda z: jnp.asarray(DESIGN) @ z)(y)).sum())(x)


def of_small_matrices(x):
    return -((SMALL @ jnp.sin(x)) ** 2).sum()


def of_a_matrix_that_depends_on_the_position(x):
    return jnp.sin((jnp.asarray(DESIGN) * jnp.cos(x)) @ x).sum()


def in_a_loop(x):
    return jax.lax.fori_loop(0, 3, lambda _, total: total + jnp.sin(jnp.asarray(DESIGN) @ x * total).sum(), 0.1)


def quadratic(x):
    return -0.5 * x @ x


def linear(x):
    return x.sum()


DENSITIES = (
    observations_along_columns,
    observations_along_rows,
    in_inner_functions,
    of_small_matrices,
    of_a_matrix_that_depends_on_the_position,
    in_a_loop,
    quadratic,
    linear,
)


@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: density.__name__)
@pytest.mark.parametrize("traced", [False, True], ids=["as it is", "with its data as an argument"])
def test_values_are_those_at_each_vector(density, traced):
    position, first, second = (jnp.asarray(RNG.normal(size=COLUMNS)) for _ in range(3))
    function = trace_density(density, jax.ShapeDtypeStruct(position.shape, position.dtype)) if traced else density

    def both(function, x):
        return at_two_vectors(hessian_times(function, x), first, second, jax.tree.leaves(function))

    found = (jax.jit(both) if traced else lambda *given: jax.jit(lambda x: both(given[0], x))(given[1]))(
        function, position
    )
    for vector, value in zip((first, second), found, strict=True):
        expected = hessian_times(density, position)(vector)
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12 * float(jnp.abs(expected).max()))


SHAPES = [(300, 12), (9, 2000), (500, 43), (5000, 101), (40, 5000), (1, 5000), (2000, 3)]
"""Matrices whose rows are, or are not, whole numbers of lines of a cache."""


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_with_matrices_of_any_shape(shape, dtype):
    matrix = jnp.asarray(RNG.normal(size=shape), dtype)
    vectors = [jnp.asarray(RNG.normal(size=(3, shape[1])), dtype) for _ in range(2)]

    def both(first, second):
        return at_two_vectors(lambda v: (matrix @ v) @ matrix, first, second)

    exact = np.asarray(matrix, float)
    for found in (jax.jit(jax.vmap(both))(*vectors), [jnp.stack(v) for v in zip(*map(both, *vectors), strict=True)]):
        for vector, value in zip(vectors, found, strict=True):
            expected = np.asarray(vector, float) @ exact.T @ exact
            np.testing.assert_allclose(value, expected, atol=100 * jnp.finfo(dtype).eps * np.abs(expected).max())
            assert value.dtype == dtype


FACTORS = re.compile(r"stablehlo\.dot_general .*: \(tensor<([0-9x]*)xf64>")


def product_shapes(function, *arguments):
    """Shapes of the left factors of all products in a lowered program."""
    return FACTORS.findall(jax.jit(function).lower(*arguments).as_text())


@pytest.mark.parametrize("density", [observations_along_columns, observations_along_rows])
def test_products_with_a_large_matrix_are_made_at_once(density):
    vector = jnp.ones(COLUMNS)

    def both(x):
        return at_two_vectors(hessian_times(density, x), vector, 2.0 * vector)

    assert product_shapes(both, vector).count(f"2x{COLUMNS}") == 1
    assert product_shapes(both, vector).count(f"2x{ROWS}") == 1


@pytest.mark.parametrize("density", [of_small_matrices, quadratic, linear])
def test_other_operations_are_done_apart(density):
    vector = jnp.ones(COLUMNS)
    shapes = product_shapes(lambda x: at_two_vectors(hessian_times(density, x), vector, 2.0 * vector), vector)
    assert not any(shape.startswith("2x") for shape in shapes)


def test_a_matrix_that_depends_on_the_position_is_not_transposed():
    vector = jnp.ones(COLUMNS)

    def both(x):
        return at_two_vectors(hessian_times(of_a_matrix_that_depends_on_the_position, x), vector, 2.0 * vector)

    assert "optimization_barrier" not in jax.jit(both).lower(vector).as_text()


def test_on_accelerators_the_compiler_decides():
    vector = jnp.ones(COLUMNS)

    def both(x):
        return at_two_vectors(hessian_times(observations_along_rows, x), vector, 2.0 * vector)

    text = jax.jit(both).trace(vector).lower(lowering_platforms=("cuda",)).as_text()
    assert "optimization_barrier" not in text
    assert not [shape for shape in FACTORS.findall(text) if shape.startswith("2x")]


def test_more_data_than_a_copy_may_have_is_not_transposed(monkeypatch):
    vector = jnp.ones(COLUMNS)
    monkeypatch.setattr(two_vectors, "_MANY", DESIGN.size - 1)

    def both(x):
        return at_two_vectors(hessian_times(observations_along_rows, x), vector, 2.0 * vector)

    shapes = product_shapes(both, vector)
    assert shapes.count(f"2x{COLUMNS}") == 0
    assert shapes.count(f"2x{ROWS}") == 1


def bodies_of_loops(text):
    """The lines of a compiled program that are executed in loops."""
    computations = {
        found["name"]: found["lines"]
        for found in re.finditer(r"^(?:ENTRY )?%(?P<name>[\w.-]+) .*\{\n(?P<lines>(?:.*\n)*?)\}", text, re.MULTILINE)
    }
    waiting, reached = re.findall(r"body=%([\w.-]+)", text), set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += re.findall(r"(?:calls|to_apply|body)=%([\w.-]+)", computations[name])
    return [line for name in sorted(reached) for line in computations[name].splitlines()]


@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("trajectory", [mp.Static(4), mp.NUTS(4)], ids=["static", "NUTS"])
@pytest.mark.parametrize("traced", [False, True], ids=["as it is", "with its data as an argument"])
def test_matrices_are_transposed_before_the_loop_over_draws(trajectory, traced):
    position = jnp.zeros(COLUMNS)
    density = trace_density(observations_along_rows, position) if traced else observations_along_rows

    def run(density, keys):
        setup = Setup(density, fitted(mp.Monge(0.1), position), jnp.asarray(0.01), trajectory)
        point, _ = setup.metric.at(density, position)

        def draw(point, key):
            return LMC().step(key, point, setup).phase.point, None

        return jax.lax.scan(draw, point, keys)[0].position

    keys = jax.random.split(jax.random.key(0), 5)
    program = jax.jit(run).lower(density, keys) if traced else jax.jit(lambda keys: run(density, keys)).lower(keys)
    text = program.compile().as_text()
    made = rf"= f64\[{COLUMNS},{ROWS + -ROWS % 8}\]\S* (?!get-tuple-element|parameter)"  # in lines of 64 bytes
    assert re.search(made, text), "no matrix is transposed"
    assert not [line for line in bodies_of_loops(text) if re.search(made, line)]
