"""BlackJAX's NUTS."""

import numpy as np

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
    posterior, stats = tree["posterior"].to_dataset(), tree["sample_stats"].to_dataset()
    return Outcome(
        {str(name): np.asarray(values) for name, values in posterior.items()},
        int(stats["n_grad"].sum()) + int(posterior.attrs["warmup_n_grad"]),
        posterior.attrs["warmup_time"] + posterior.attrs["sampling_time"],
        watch.compiling,
        int(stats["diverging"].sum()),
    )
