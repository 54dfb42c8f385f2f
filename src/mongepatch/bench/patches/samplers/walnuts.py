"""WALNUTS of walnutpie, through a callback."""

import time

import numpy as np

from mongepatch._extras import require
from mongepatch.bench.patches.samplers.base import Outcome, Plan, Sampler, Task
from mongepatch.bench.patches.samplers.callback import Callback, compiled_gradient_seconds

DEPTH = 10
"""Doublings of a trajectory, as many as the other samplers may make; walnutpie's own limit is 5."""


def walnuts() -> Sampler:
    """With steps that are halved where energy is not kept."""
    return Sampler("WALNUTS", _run)


def _run(task: Task, plan: Plan) -> Outcome:
    walnutpie = require("walnutpie", "peers", "This peer")
    callback = Callback(task)
    started = time.perf_counter()
    chains = walnutpie.walnuts_pyfunc(
        callback,
        num_params=task.target.dimension,
        num_chains=plan.chains,
        seed=plan.seed,
        # It would stop as soon as chains agree with each other; they shall have as many draws as the rest.
        min_warmup_iter=plan.warmup,
        max_warmup_iter=plan.warmup,
        min_sampling_iter=plan.draws,
        max_sampling_iter=plan.draws,
        max_trajectory_doublings=DEPTH,
    )
    seconds = time.perf_counter() - started
    return Outcome(
        task.variables(np.stack([np.asarray(chain) for chain in chains])),
        callback.count,
        seconds,
        callback.compile_seconds,
        None,
        callback.count * compiled_gradient_seconds(task),
    )
