"""Compiled trajectories of many steps, to time one step of them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity
from mongepatch.bench.methods import Method
from mongepatch.integrators import Lagrangian, Motion, Phase
from mongepatch.metrics import Metric


def trajectory(
    logdensity: LogDensity, method: Method, position: jax.Array, step_size: float, num_steps: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A jitted function that follows trajectories from positions (D,) or (chains, D), and its arguments."""

    def follow(metric: Metric, x: jax.Array, v: jax.Array) -> Phase:
        point, _ = metric.at(logdensity, x)
        start = Phase(point, Motion(v, jnp.zeros((), x.dtype)))
        return Lagrangian(method.scheme).run(
            logdensity, metric, start, jnp.asarray(step_size, x.dtype), jnp.asarray(num_steps)
        )

    batched = jax.vmap(follow, (None, 0, 0)) if position.ndim == 2 else follow
    velocity = jax.random.normal(jax.random.key(2), position.shape, position.dtype)
    return jax.jit(batched), (method.metric, position, velocity)


def caller(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """The function with its arguments filled in."""
    return partial(function, *arguments)
