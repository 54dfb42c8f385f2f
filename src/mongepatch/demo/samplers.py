"""Runs of the demo: a sampler on a model, with its draws and diagnostics."""

import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._cache import use_compilation_cache
from mongepatch._extras import require
from mongepatch.demo.models import DemoModel, papers_funnel, uneven_groups
from mongepatch.frontends import from_numpyro
from mongepatch.metrics import Monge
from mongepatch.paper.presets import preset
from mongepatch.paper.quiet import sample_quietly
from mongepatch.targets import funnel
from mongepatch.trajectories import Static

FUNNEL_DRAWS = 40
"""Draws of LMC for each draw of the other runs: they are cheap, and in the neck they are few effective ones."""
WARMUP = 1000


class Run(NamedTuple):
    """Draws of a scale and of an effect, of shape (chains, draws), and what a user looks at."""

    sampler: str
    scale: np.ndarray
    effect: np.ndarray
    diverging: float
    """The fraction of trajectories that diverged."""
    seconds: float
    """From the model to the draws, compilation included."""

    @property
    def ess(self) -> float:
        """Effective draws of the scale."""
        return float(_array_stats().ess(self.scale))

    @property
    def r_hat(self) -> float:
        """R̂ of the scale."""
        return float(_array_stats().rhat(self.scale))


def our_runs(draws: int, *, progress: bool = True) -> list[Run]:
    """`mp.sample` on the groups with everything automatic, and LMC on the funnel at the paper's settings."""
    model, started = uneven_groups(), time.perf_counter()
    tree = sample_quietly(from_numpyro(model.model, *model.data), draws=draws, warmup=WARMUP, progress=progress)
    runs = [_run("mp.sample", model, tree["posterior"], tree["sample_stats"]["diverging"], started)]
    model, started, paper = papers_funnel(), time.perf_counter(), preset("funnel-1")
    tree = sample_quietly(
        funnel(1),
        jnp.full(2, jnp.asarray(paper.start)),
        metric=Monge(1.0),
        trajectory=Static(paper.num_steps),
        step_size=paper.step_size,
        draws=FUNNEL_DRAWS * draws,
        warmup=0,
        init_spread=0.0,
        progress=progress,
    )
    return [*runs, _run("LMC, Monge metric", model, tree["posterior"], tree["sample_stats"]["diverging"], started)]


def nuts_runs(draws: int) -> list[Run]:
    """NumPyro's NUTS on the same two models, with its usual settings. For a process of its own."""
    use_compilation_cache()
    jax.config.update("jax_enable_x64", True)
    infer = require("numpyro.infer", "numpyro", "NUTS")
    runs = []
    for model in (uneven_groups(), papers_funnel()):
        started = time.perf_counter()
        sampler = infer.MCMC(
            infer.NUTS(model.model),
            num_warmup=WARMUP,
            num_samples=draws,
            num_chains=4,
            chain_method="vectorized",
            progress_bar=False,
        )
        sampler.run(jax.random.key(0), *model.data, extra_fields=("diverging",))
        diverging = sampler.get_extra_fields()["diverging"]
        runs.append(_run("NumPyro NUTS", model, sampler.get_samples(group_by_chain=True), diverging, started))
    return runs


def _run(sampler: str, model: DemoModel, draws: Any, diverging: Any, started: float) -> Run:
    scale, effect = model.quantities({name: np.asarray(draws[name]) for name in draws})
    return Run(sampler, scale, effect, float(np.mean(diverging)), time.perf_counter() - started)


def _array_stats() -> Any:
    return require("arviz_stats.base", "sample", "The table").array_stats
