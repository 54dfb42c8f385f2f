"""BlackJAX's NUTS."""

from mongepatch import baselines
from mongepatch.bench.patches.compiling import stopwatch
from mongepatch.bench.patches.samplers.base import Outcome, Plan, Sampler, Task


def blackjax_nuts() -> Sampler:
    """As `mongepatch.baselines` runs it."""
    return Sampler("BlackJAX NUTS", _run)


def _run(task: Task, plan: Plan) -> Outcome:
    target = task.target
    with stopwatch() as watch:
        tree = baselines.nuts(target, **plan._asdict())
    return Outcome.of_tree(tree, watch.compiling)
