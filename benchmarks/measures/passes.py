"""Passes over memory: the least time in which a program can read and write so much of it on this machine."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

ARRAYS = 8


def pass_loop(memory_bytes: int, repeats: int) -> Callable[[], Any]:
    """A call of a compiled program that changes arrays of so many bytes in all, one after another, `repeats` times."""
    arrays = tuple(jnp.full(memory_bytes // (8 * ARRAYS), 1.0 + i, jnp.float64) for i in range(ARRAYS))

    def step(_: Any, arrays: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        # Without barriers, all of them would be changed in one loop.
        return tuple(
            jax.lax.optimization_barrier(0.5 * one + other)
            for one, other in zip(arrays, (*arrays[1:], arrays[0]), strict=True)
        )

    loop = jax.jit(lambda arrays: jax.lax.fori_loop(0, repeats, step, arrays)).lower(arrays).compile()
    return partial(loop, arrays)
