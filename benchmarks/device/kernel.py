"""A bare loop over the kernel on heart, compiled as the library does: draws per second without warm-up or results."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from benchmarks.measures.timing import seconds_of
from mongepatch import datasets, lmc
from mongepatch.metrics import Euclidean, Metric, Monge
from mongepatch.program.quick import JitWithOptions, loop_options
from mongepatch.trajectories import Static

STEP, LENGTH, ALPHA = 0.09, 7, 0.01


def kernel_rates(chains: int, draws: int, rounds: int) -> dict[str, float]:
    """Draws per second by leapfrog and by LMC-Monge, trajectories of seven steps."""
    target = datasets.load("heart").target()
    positions = 0.1 * jax.random.normal(jax.random.key(0), (chains, target.dimension))
    metrics: dict[str, Metric] = {"leapfrog": Euclidean(), "LMC-Monge": Monge(ALPHA)}

    def loop(metric: Metric) -> Callable[[], Any]:
        algorithm = lmc(target, metric, STEP, Static(LENGTH))
        step = jax.vmap(algorithm.step)

        def follow(key: Any, states: Any) -> Any:
            def one(i: Any, states: Any) -> Any:
                return step(jax.random.split(jax.random.fold_in(key, i), chains), states)[0]

            return jax.lax.fori_loop(0, draws, one, states)

        compiled = JitWithOptions(follow, loop_options)
        return partial(compiled, jax.random.key(1), jax.vmap(algorithm.init)(positions))

    seconds = seconds_of({name: loop(metric) for name, metric in metrics.items()}, rounds)
    return {name: draws * chains / float(np.median(times)) for name, times in seconds.items()}
