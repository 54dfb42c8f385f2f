"""Operations on constants in NumPy give what JAX gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from mongepatch.program import in_numpy

ROWS, COLUMN = np.arange(12.0).reshape(3, 4) - 5.0, np.array([[2.0], [np.nan], [-1.0]])

OPERATIONS = {
    "iota": lambda x: x * lax.broadcasted_iota(float, (3, 4), 1),
    "broadcast_in_dim": lambda x: x + lax.broadcast_in_dim(jnp.arange(3.0), (3, 4), (0,)),
    "concatenate": lambda x: lax.concatenate([x, x[:1]], 0),
    "transpose": lambda x: x.T,
    "rev": lambda x: lax.rev(x, (1,)),
    "slice": lambda x: x[1:, ::2],
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (jnp.int32(2), jnp.int32(-7)), (2, 3)),
    "pad": lambda x: lax.pad(x, -1.0, ((1, 0, 0), (0, 2, 1))),
    "cumsum": lambda x: lax.cumsum(x, 1, reverse=True) + lax.cumsum(x, 0),
    "max": lambda x: lax.max(x, x * 0.0 + COLUMN),
    "min": lambda x: lax.min(x, x * 0.0 + COLUMN),
    "sign": lambda x: lax.sign(x),
    "select_n": lambda x: lax.select(x > 0, x, 2 * x),
    "squeeze": lambda x: lax.squeeze(x[:1], (0,)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_same_as_in_jax(name):
    program = jax.make_jaxpr(OPERATIONS[name])(ROWS)
    values = dict(zip(program.jaxpr.constvars, map(np.asarray, program.consts), strict=True))
    values[program.jaxpr.invars[0]] = ROWS
    done = set()
    for equation in program.jaxpr.eqns:
        given = [np.asarray(v.val) if hasattr(v, "val") else values[v] for v in equation.invars]
        (result,) = equation.outvars
        found = in_numpy(equation.primitive.name, given, result.aval.shape, result.aval.dtype, equation.params)
        expected = equation.primitive.bind(*given, **equation.params)
        if found is not None:
            done.add(equation.primitive.name)
            np.testing.assert_array_equal(found, expected)
        values[result] = np.asarray(expected)
    assert name in done
    np.testing.assert_array_equal(values[program.jaxpr.outvars[0]], OPERATIONS[name](ROWS))


def test_what_would_be_cut_away_is_left_to_jax():
    assert in_numpy("pad", [ROWS, np.float64(0)], (2, 4), float, {"padding_config": ((-1, 0, 0), (0, 0, 0))}) is None
    assert in_numpy("slice", [ROWS], (1, 4), float) is None
