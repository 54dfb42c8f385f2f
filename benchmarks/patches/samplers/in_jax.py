"""Samplers that are written in JAX: `mongepatch.sample`, and the NUTS of BlackJAX and of NumPyro."""

from typing import Any

import jax
import numpy as np

from benchmarks.patches.samplers.base import RunPlan, Sampler, SamplerOutcome, SamplerTask
from mongepatch import baselines
from mongepatch._typing import LogDensity
from mongepatch.paper.quiet import sample_quietly
from mongepatch.program.stopwatch import stopwatch
from mongepatch.targets import Target
from mongepatch.warmup import default_warmup

FIELDS = ("num_steps", "diverging")


def ours(metric: str) -> Sampler:
    """`mongepatch.sample` in a metric by name, all else automatic."""

    def run(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
        return run_ours(task.target, plan, metric=metric)

    return Sampler(f"ours, {metric}", run)


def run_ours(target: Target | LogDensity, plan: RunPlan, **settings: Any) -> SamplerOutcome:
    """One run of `mongepatch.sample`."""
    asked = plan._asdict()
    if plan.warmup == default_warmup(plan.chains):
        del asked["warmup"]  # which users leave out, so that it may be shorter
    with stopwatch() as watch:
        tree = sample_quietly(target, progress=False, **asked, **settings)
    attrs = tree["posterior"].attrs
    return SamplerOutcome.of_tree(tree, watch.compiling)._replace(remark=f"{attrs['metric']}: {attrs['chosen']}")


def blackjax_nuts(name: str = "BlackJAX NUTS", **settings: Any) -> Sampler:
    """BlackJAX's NUTS, as `mongepatch.baselines` runs it, with settings such as `dense_mass`."""

    def run(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
        target = task.target
        with stopwatch() as watch:
            tree = baselines.nuts(target, **plan._asdict(), **settings)
        return SamplerOutcome.of_tree(tree, watch.compiling)

    return Sampler(name, run)


def numpyro_nuts(name: str = "NumPyro NUTS", **settings: Any) -> Sampler:
    """NumPyro's NUTS with settings such as `target_accept_prob`, all chains in one program."""

    def run(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
        return _run_numpyro(task, plan, settings)

    return Sampler(name, run)


def numpyro_nuts_in_one_call(name: str = "NumPyro NUTS", **settings: Any) -> Sampler:
    """The same with warm-up and sampling in one call, as users call it: one compilation, and warm-up not counted."""

    def run(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
        with stopwatch() as watch:
            mcmc = _mcmc(task, plan, settings)
            mcmc.run(jax.random.key(plan.seed), *task.data, extra_fields=FIELDS)
            draws = {name: np.asarray(values) for name, values in mcmc.get_samples(group_by_chain=True).items()}
        extra = mcmc.get_extra_fields()
        steps, divergences = (int(np.sum(extra[field])) for field in FIELDS)
        return SamplerOutcome(draws, steps, watch.running, watch.compiling, divergences)

    return Sampler(name, run)


def _mcmc(task: SamplerTask, plan: RunPlan, settings: dict[str, Any]) -> Any:
    from numpyro.infer import MCMC, NUTS

    return MCMC(
        NUTS(task.model, **settings),
        num_warmup=plan.warmup,
        num_samples=plan.draws,
        num_chains=plan.chains,
        chain_method="vectorized",
        progress_bar=False,
    )


def _run_numpyro(task: SamplerTask, plan: RunPlan, settings: dict[str, Any]) -> SamplerOutcome:
    mcmc = _mcmc(task, plan, settings)
    with stopwatch() as warmup:
        mcmc.warmup(jax.random.key(plan.seed), *task.data, collect_warmup=True, extra_fields=FIELDS)
        steps = int(np.sum(mcmc.get_extra_fields()["num_steps"]))
    with stopwatch() as sampling:
        mcmc.run(mcmc.post_warmup_state.rng_key, *task.data, extra_fields=FIELDS)
        draws = jax.block_until_ready(mcmc.get_samples(group_by_chain=True))
    extra = mcmc.get_extra_fields(group_by_chain=True)
    return SamplerOutcome(
        {name: np.asarray(values) for name, values in draws.items()},
        steps + int(np.sum(extra["num_steps"])),
        warmup.running + sampling.running,
        warmup.compiling,  # the second compilation is only needed because the steps of warm-up are counted
        int(np.sum(extra["diverging"])),
    )
