"""Compiled trajectories of many steps, from which the time of one step is measured."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.stages import Compiled

from mongepatch._typing import LogDensity
from mongepatch.integrators import Lagrangian, Phase
from mongepatch.metrics import Metric
from mongepatch.paper.methods import Method


def trajectory(
    logdensity: LogDensity, method: Method, position: jax.Array, step_size: float, num_steps: int
) -> tuple[Compiled, Callable[[], Any]]:
    """A compiled program for trajectories from positions (D,) or (chains, D), and a call of it."""

    def follow(metric: Metric, x: jax.Array, v: jax.Array) -> Phase:
        point, _ = metric.at(logdensity, x)
        step, count = jnp.asarray(step_size, x.dtype), jnp.asarray(num_steps)
        return Lagrangian(method.scheme).run(logdensity, metric, Phase.start(point, v), step, count)

    batched = jax.vmap(follow, (None, 0, 0)) if position.ndim == 2 else follow
    velocity = jax.random.normal(jax.random.key(2), position.shape, position.dtype)
    arguments = (method.metric, position, velocity)
    compiled = jax.jit(batched).lower(*arguments).compile()
    return compiled, partial(compiled, *arguments)
