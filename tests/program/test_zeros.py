"""Results that are 0 wherever some inputs are."""

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program import trace
from mongepatch.program.zeros import known_zeros

MEANS = jnp.array([0.0, 0.0, 3.0])


def residuals(x):
    """Of x[0], a log scale, and x[1:4]; with x[4] as their mean, then with means 0, 0 and 3."""
    scale = jnp.exp(x[0])
    return jnp.concatenate([(x[1:4] - x[4]) / scale, jax.jit(lambda y: (y - MEANS) * scale)(x[1:4]), jnp.cos(x[:1])])


def test_means_that_are_zero_leave_no_offset():
    program, _ = trace(residuals, jax.ShapeDtypeStruct((5,), float))
    found = known_zeros(program, np.array([False, True, True, True, True]))
    np.testing.assert_array_equal(found, [True, True, True, True, True, False, False])
    assert not known_zeros(program, np.array([False, True, True, True, False]))[:3].any()
    at_zero = program(jnp.array([0.7, 0.0, 0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(at_zero[found], 0.0)
