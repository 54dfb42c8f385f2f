"""Places that gather and scatter use, found in NumPy, are those that JAX uses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mongepatch.program import scattered_places
from mongepatch.program.windows import gathered_places

SHAPE = (4, 3, 5)
ROWS, COLUMNS = np.array([2, 0, 3, -1]), np.array([[1], [2]])
FAR = np.array([1, 9, -7, 3])

READS = {
    "rows": lambda x: x[ROWS],
    "columns": lambda x: x[:, COLUMNS],
    "both": lambda x: x[ROWS[:, None], :, np.array([4, 1])],
    "past the end, filled": lambda x: x.at[FAR].get(mode="fill"),
    "past the end, clipped": lambda x: x.at[FAR, 1].get(mode="clip"),
    "own place in each row": lambda x: jnp.take_along_axis(x, np.array([[[1]], [[0]], [[2]], [[1]]]), 1),
    "a batch": lambda x: jax.vmap(lambda row, at: row[at])(x, np.array([[0, 2], [1, 1], [2, 0], [0, 0]])),
    "a batch along another axis": lambda x: jax.vmap(lambda part, at: part[:, at], (1, 0), 1)(x, np.array([4, 0, 2])),
    "windows": lambda x: jax.lax.gather(
        x,
        np.array([[0, 1], [2, 3]]),
        jax.lax.GatherDimensionNumbers(offset_dims=(0, 2), collapsed_slice_dims=(1,), start_index_map=(0, 2)),
        (2, 1, 3),
        mode="clip",
    ),
}


def equation_of(function, name, *arguments):
    """The only gather or scatter of a function, and its operands."""
    program = jax.make_jaxpr(function)(*arguments)
    return _find(program.jaxpr, program.consts, arguments, name)


def _find(jaxpr, consts, arguments, name):
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))
    for equation in jaxpr.eqns:
        given = [variable.val if hasattr(variable, "val") else values[variable] for variable in equation.invars]
        if equation.primitive.name == name:
            return equation, given
        if "jaxpr" in equation.params:
            inner = equation.params["jaxpr"]
            found = _find(inner.jaxpr, inner.consts, given, name)
            if found is not None:
                return found
        results = equation.primitive.bind(*given, **equation.params)
        results = results if equation.primitive.multiple_results else [results]
        values.update(zip(equation.outvars, results, strict=True))
    return None


def read_places(name):
    """A gather, the array and indices that it is given, and the places that JAX reads, −1 for none."""
    equation, (array, starts) = equation_of(READS[name], "gather", np.zeros(SHAPE))
    numbers = np.arange(np.prod(SHAPE)).reshape(array.shape)
    read = equation.primitive.bind(numbers, starts, **equation.params | {"fill_value": -1})
    return equation, np.asarray(starts), np.asarray(read)


@pytest.mark.parametrize("name", READS)
def test_places_that_are_read(name):
    equation, starts, expected = read_places(name)
    shape = equation.invars[0].aval.shape
    np.testing.assert_array_equal(gathered_places(equation.params, shape, starts), expected)


@pytest.mark.parametrize("name", READS)
def test_places_that_are_written(name):
    """The derivative of a read writes at the same places."""
    _, _, expected = read_places(name)
    result = jax.eval_shape(READS[name], np.zeros(SHAPE))
    written, (array, starts, updates) = equation_of(
        lambda x: jax.vjp(READS[name], x)[1](jnp.ones(result.shape))[0], "scatter-add", np.zeros(SHAPE)
    )
    places = scattered_places(written.params, array.shape, np.asarray(starts), updates.shape)
    np.testing.assert_array_equal(places, expected.reshape(updates.shape))
