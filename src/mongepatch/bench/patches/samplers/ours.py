"""`mongepatch.sample`."""

from typing import Any

import numpy as np

from mongepatch.bench.patches.compiling import stopwatch
from mongepatch.bench.patches.samplers.base import Outcome, Plan, Sampler, Task
from mongepatch.bench.quiet import sample_quietly


def ours(metric: str) -> Sampler:
    """Our sampler in a metric by name, all else automatic."""

    def run(task: Task, plan: Plan) -> Outcome:
        return run_ours(task, plan, metric=metric)

    return Sampler(f"ours, {metric}", run)


def run_ours(task: Task, plan: Plan, **settings: Any) -> Outcome:
    """One run of it."""
    target = task.target
    with stopwatch() as watch:
        tree = sample_quietly(target, progress=False, **plan._asdict(), **settings)
    posterior, stats = tree["posterior"].to_dataset(), tree["sample_stats"].to_dataset()
    return Outcome(
        {str(name): np.asarray(values) for name, values in posterior.items()},
        int(stats["n_grad"].sum()) + int(posterior.attrs["warmup_n_grad"]),
        posterior.attrs["warmup_time"] + posterior.attrs["sampling_time"],
        watch.compiling,
        int(stats["diverging"].sum()),
        remark=f"{posterior.attrs['metric']}: {posterior.attrs['chosen']}",
    )
