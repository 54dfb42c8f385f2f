"""Densities for samplers that are not written in JAX: they call back into Python for each gradient."""

import time
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import Vector
from mongepatch.bench.patches.samplers.base import CHAINS, Task

REPEATS = 2000


class Callback:
    """A log density and its gradient of NumPy vectors, which counts how often it is asked."""

    def __init__(self, task: Task) -> None:
        self._function = jax.jit(jax.value_and_grad(task.target.logdensity))
        self.count = 0
        started = time.perf_counter()
        self(np.zeros(task.target.dimension))
        self.compile_seconds = time.perf_counter() - started
        self.count = 0

    def __call__(self, position: np.ndarray, **_: Any) -> tuple[float, np.ndarray]:
        """The log density and its gradient."""
        self.count += 1
        value, gradient = self._function(position)
        return float(value), np.asarray(gradient, float)


@cache
def compiled_gradient_seconds(task: Task) -> float:
    """How long a gradient of one chain takes in a compiled loop of all chains: what a callback adds is left out."""
    gradient = jax.vmap(jax.grad(task.target.logdensity))

    def step(_: Any, x: Vector) -> Vector:
        return x + 1e-9 * jnp.tanh(gradient(x))  # each gradient needs the one before, as in a sampler

    loop = jax.jit(lambda x: jax.lax.fori_loop(0, REPEATS, step, x)).lower(start := _starts(task)).compile()
    times = []
    for _ in range(3):
        started = time.perf_counter()
        jax.block_until_ready(loop(start))
        times.append(time.perf_counter() - started)
    return min(times) / (REPEATS * CHAINS)


def _starts(task: Task) -> jax.Array:
    return 0.1 * jax.random.normal(jax.random.key(0), (CHAINS, task.target.dimension))
