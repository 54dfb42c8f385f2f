"""The test run tells arrays of the wrong shape or type: see `conftest.py`."""

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

import mongepatch as mp
from mongepatch.metrics.base import kinetic
from mongepatch.metrics.low_rank import LowRank

METRIC = mp.Euclidean(jnp.ones(3))
POINT, _ = METRIC.at(lambda x: -0.5 * x @ x, jnp.zeros(3))


def test_vectors_of_any_precision_pass():
    for dtype in (jnp.float32, jnp.float64):
        assert kinetic(METRIC, POINT, jnp.ones(3, dtype)) == 1.5


@pytest.mark.parametrize(
    "velocity",
    [jnp.ones(()), jnp.ones((2, 3)), jnp.ones(3, int), [1.0, 1.0, 1.0]],
    ids=["number", "matrix", "integers", "list"],
)
def test_what_is_no_vector_is_told(velocity):
    with pytest.raises(TypeCheckError, match="parameter 'velocity'"):
        kinetic(METRIC, POINT, velocity)


def test_a_vector_that_would_be_broadcast_is_told():
    with pytest.raises(TypeCheckError, match="return value"):
        METRIC.momentum(POINT, jnp.ones(1))


def test_fields_that_do_not_fit_each_other_are_told():
    with pytest.raises(TypeCheckError, match="parameter 'directions'"):
        LowRank(scale=jnp.ones(3), directions=jnp.ones((2, 1)), eigenvalues=jnp.ones(1))
