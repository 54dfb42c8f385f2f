"""`mongepatch.sample`."""

from typing import Any

from mongepatch.bench.patches.compiling import stopwatch
from mongepatch.bench.patches.samplers.base import Outcome, Plan, Sampler, Task
from mongepatch.bench.quiet import sample_quietly
from mongepatch.targets import Target


def ours(metric: str) -> Sampler:
    """Our sampler in a metric by name, all else automatic."""

    def run(task: Task, plan: Plan) -> Outcome:
        return run_ours(task.target, plan, metric=metric)

    return Sampler(f"ours, {metric}", run)


def run_ours(target: Target, plan: Plan, **settings: Any) -> Outcome:
    """One run of it."""
    with stopwatch() as watch:
        tree = sample_quietly(target, progress=False, **plan._asdict(), **settings)
    attrs = tree["posterior"].attrs
    return Outcome.of_tree(tree, watch.compiling)._replace(remark=f"{attrs['metric']}: {attrs['chosen']}")
