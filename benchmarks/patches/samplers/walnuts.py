"""WALNUTS of walnutpie, through a callback."""

from mongepatch.bench import walnuts as module
from mongepatch.bench.patches.samplers.base import Outcome, Plan, Sampler, Task
from mongepatch.bench.patches.samplers.compiled import compiled_gradient_seconds


def walnuts() -> Sampler:
    """With steps that are halved where energy is not kept."""
    return Sampler("WALNUTS", _run)


def _run(task: Task, plan: Plan) -> Outcome:
    walk = module.walnuts(task.target, **plan._asdict())
    return Outcome(
        task.variables(walk.positions),
        walk.n_grad,
        walk.seconds,
        walk.compile_seconds,
        None,
        walk.n_grad * compiled_gradient_seconds(task),
    )
