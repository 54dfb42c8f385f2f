"""Compiled gradients of many chains: alone, for the time of compilation, and in a loop, for the time of one."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity, Vector


def gradient_loop(logdensity: LogDensity, positions: jax.Array, repeats: int) -> Callable[[], Any]:
    """A call of a compiled program that computes `repeats` gradients at positions (chains, D), one after another."""
    gradient = jax.vmap(jax.grad(logdensity))

    def step(_: Any, x: Vector) -> Vector:
        return x + 1e-9 * jnp.tanh(gradient(x))  # each gradient needs the one before, as in a sampler

    loop = jax.jit(lambda x: jax.lax.fori_loop(0, repeats, step, x)).lower(positions).compile()
    return partial(loop, positions)


def gradient_compile_seconds(logdensity: LogDensity, positions: jax.Array) -> float:
    """Seconds that the log density and its gradient at positions (chains, D) take to trace and to compile."""
    started = time.perf_counter()
    # A function of its own: JAX would find what it has traced before.
    jax.jit(jax.vmap(jax.value_and_grad(lambda x: logdensity(x)))).lower(positions).compile()
    return time.perf_counter() - started
