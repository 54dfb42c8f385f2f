"""Runs of the demo: a sampler on a model, with its draws and diagnostics."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from mongepatch._cache import use_compilation_cache
from mongepatch._extras import require
from mongepatch.demo.models import DemoModel
from mongepatch.frontends import from_numpyro
from mongepatch.paper.quiet import sample_quietly

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


def prepare_process() -> None:
    """What the command line does first, for a process that it starts."""
    use_compilation_cache()
    jax.config.update("jax_enable_x64", True)


def our_run(make: Callable[[], DemoModel], draws: int, *, progress: bool = False) -> Run:
    """`mp.sample` with nothing but the model."""
    model, started = make(), time.perf_counter()
    target = from_numpyro(model.model, *model.data)
    tree = sample_quietly(target, draws=draws, warmup=WARMUP, progress=progress)
    return _run("mp.sample", model, tree["posterior"], tree["sample_stats"]["diverging"], started)


def nuts_run(make: Callable[[], DemoModel], draws: int) -> Run:
    """NumPyro's NUTS with its usual settings."""
    infer = require("numpyro.infer", "numpyro", "NUTS")
    model, started = make(), time.perf_counter()
    sampler = infer.MCMC(
        infer.NUTS(model.model),
        num_warmup=WARMUP,
        num_samples=draws,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(jax.random.key(0), *model.data, extra_fields=("diverging",))
    draws_by_name = sampler.get_samples(group_by_chain=True)
    return _run("NumPyro NUTS", model, draws_by_name, sampler.get_extra_fields()["diverging"], started)


def _run(sampler: str, model: DemoModel, draws: Any, diverging: Any, started: float) -> Run:
    scale, effect = model.quantities({name: np.asarray(draws[name]) for name in draws})
    return Run(sampler, scale, effect, float(np.mean(diverging)), time.perf_counter() - started)


def _array_stats() -> Any:
    return require("arviz_stats.base", "sample", "The table").array_stats
