"""What gradients would take without the callbacks of samplers that are not written in JAX."""

import time
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.bench.patches.samplers.base import CHAINS, Task

REPEATS = 2000


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
