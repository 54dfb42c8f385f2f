"""In the Monge metric nothing is as large as a matrix, whatever the kernel and trajectory."""

import jax
import jax.numpy as jnp
import pytest
from helpers import slow_but

import mongepatch as mp

pytestmark = pytest.mark.usefixtures("optimized")  # it looks at compiled code

DIMENSION = 1000

ALGORITHMS = {
    "lmc-static": lambda density, metric: mp.lmc(density, metric, 0.01, mp.Static(5)),
    "lmc-nuts": lambda density, metric: mp.lmc(density, metric, 0.01, mp.NUTS()),
    "rmhmc-static": lambda density, metric: mp.rmhmc(density, metric, 0.01, mp.Static(5)),
    "rmhmc-nuts": lambda density, metric: mp.rmhmc(density, metric, 0.01, mp.NUTS()),
    "rmhmc-midpoint": lambda density, metric: mp.rmhmc(density, metric, 0.01, mp.Static(5), integrator="midpoint"),
    "explicit-rmhmc": lambda density, metric: mp.explicit_rmhmc(density, metric, 0.001, mp.Static(5)),
    "mmala": lambda density, metric: mp.mmala(density, metric, 0.01),
}


def density(x):
    return -0.5 * x @ x - (x**4).sum() / 16


@pytest.mark.parametrize("name", slow_but(ALGORITHMS, next(iter(ALGORITHMS))))
def test_no_matrix_is_allocated(name):
    algorithm = ALGORITHMS[name](density, mp.Monge(0.5, jnp.ones(DIMENSION)))
    state = algorithm.init(jnp.full(DIMENSION, 0.1))
    compiled = jax.jit(algorithm.step).lower(jax.random.key(0), state).compile()
    assert f"[{DIMENSION},{DIMENSION}]" not in compiled.as_text()
    memory = compiled.memory_analysis()
    matrix = 8 * DIMENSION**2
    assert memory.temp_size_in_bytes + memory.output_size_in_bytes < matrix / 2


def test_the_search_would_find_a_matrix():
    algorithm = mp.mmala(density, mp.Dense(lambda x: jnp.diag(1.0 + x**2)), 0.01)
    state = algorithm.init(jnp.full(DIMENSION, 0.1))
    text = jax.jit(algorithm.step).lower(jax.random.key(0), state).compile().as_text()
    assert f"[{DIMENSION},{DIMENSION}]" in text
