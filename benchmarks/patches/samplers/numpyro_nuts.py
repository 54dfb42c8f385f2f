"""NumPyro's NUTS, chains side by side."""

from typing import Any

import jax
import numpy as np

from mongepatch.bench.patches.compiling import stopwatch
from mongepatch.bench.patches.samplers.base import Outcome, Plan, Sampler, Task

FIELDS = ("num_steps", "diverging")


def numpyro_nuts(name: str = "NumPyro NUTS", **settings: Any) -> Sampler:
    """With settings of its NUTS, such as `target_accept_prob`."""

    def run(task: Task, plan: Plan) -> Outcome:
        return _run(task, plan, settings)

    return Sampler(name, run)


def _run(task: Task, plan: Plan, settings: dict[str, Any]) -> Outcome:
    from numpyro.infer import MCMC, NUTS

    mcmc = MCMC(
        NUTS(task.model, **settings),
        num_warmup=plan.warmup,
        num_samples=plan.draws,
        num_chains=plan.chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    with stopwatch() as warmup:
        mcmc.warmup(jax.random.key(plan.seed), *task.data, collect_warmup=True, extra_fields=FIELDS)
        steps = int(np.sum(mcmc.get_extra_fields()["num_steps"]))
    with stopwatch() as sampling:
        mcmc.run(mcmc.post_warmup_state.rng_key, *task.data, extra_fields=FIELDS)
        draws = jax.block_until_ready(mcmc.get_samples(group_by_chain=True))
    extra = mcmc.get_extra_fields(group_by_chain=True)
    return Outcome(
        {name: np.asarray(values) for name, values in draws.items()},
        steps + int(np.sum(extra["num_steps"])),
        warmup.running + sampling.running,
        warmup.compiling,  # draws are compiled a second time only because the steps of warm-up are asked for
        int(np.sum(extra["diverging"])),
    )
