"""Random vectors that compile fast are those of `jax.random`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mongepatch._random import normal_vector, uniform_vector


@pytest.mark.parametrize("size", [1, 10, 16, 40])
def test_numbers_are_those_of_jax(size):
    key, dtype = jax.random.key(3), jnp.result_type(float)
    np.testing.assert_array_equal(normal_vector(key, size, dtype), jax.random.normal(key, (size,), dtype))
    uniform = jax.random.uniform(key, (size,), dtype, -2.0, 2.0)
    np.testing.assert_array_equal(uniform_vector(key, size, dtype, reach=2.0), uniform)
