"""nutpie's NUTS, through a callback."""

import os
import time
from typing import Any

import numpy as np

from mongepatch._extras import require
from mongepatch.bench.callback import Callback
from mongepatch.bench.patches.samplers.base import Outcome, Plan, Sampler, Task
from mongepatch.bench.patches.samplers.compiled import compiled_gradient_seconds


def nutpie_nuts() -> Sampler:
    """With its own mass matrix from draws and gradients."""
    return Sampler("nutpie", _run)


def _run(task: Task, plan: Plan) -> Outcome:
    nutpie = require("nutpie", "peers", "This peer")
    callback, dimension = Callback(task.target), task.target.dimension
    model = nutpie.compiled_pyfunc.from_pyfunc(
        dimension, lambda: callback, _expand, [np.dtype("float64")], [(dimension,)], ["x"]
    )
    started = time.perf_counter()
    trace = nutpie.sample(
        model,
        draws=plan.draws,
        tune=plan.warmup,
        chains=plan.chains,
        cores=min(plan.chains, os.cpu_count() or 1),
        seed=plan.seed,
        progress_bar=False,
        save_warmup=False,
    )
    seconds = time.perf_counter() - started
    return Outcome(
        task.variables(np.asarray(trace.posterior["x"])),
        callback.count,
        seconds,
        callback.compile_seconds,
        int(trace.sample_stats["diverging"].sum()),
        callback.count * compiled_gradient_seconds(task),
    )


def _expand(*_: Any) -> Any:
    return lambda x, **_: {"x": np.asarray(x, dtype="float64")}
