"""nutpie and WALNUTS, which are not written in JAX: they call back into Python for each gradient."""

import os
import time
from functools import cache
from typing import Any

import jax
import numpy as np

from benchmarks.measures.gradients import gradient_loop
from benchmarks.patches.samplers.base import CHAINS, RunPlan, Sampler, SamplerOutcome, SamplerTask
from mongepatch._extras import require
from mongepatch.errors import SettingError
from mongepatch.paper.walnuts import walnuts as run_walnuts
from mongepatch.targets import Target

REPEATS = 2000


class CallbackDensity:
    """A log density and its gradient of NumPy vectors, with a count of evaluations."""

    def __init__(self, target: Target) -> None:
        self._function = jax.jit(jax.value_and_grad(target.logdensity))
        self.count = 0
        self.logp = self
        started = time.perf_counter()
        self(np.zeros(target.dimension))
        self.compile_seconds = time.perf_counter() - started
        self.count = 0

    def __call__(self, position: np.ndarray, **_: Any) -> tuple[float, np.ndarray]:
        """The log density and its gradient."""
        self.count += 1
        value, gradient = self._function(position)
        return float(value), np.asarray(gradient, float)


@cache
def compiled_gradient_seconds(task: SamplerTask) -> float:
    """Seconds of one gradient of one chain in a compiled loop of all chains, without the cost of a callback."""
    start = 0.1 * jax.random.normal(jax.random.key(0), (CHAINS, task.target.dimension))
    loop = gradient_loop(task.target.logdensity, start, REPEATS)
    times = []
    for _ in range(3):
        started = time.perf_counter()
        jax.block_until_ready(loop())
        times.append(time.perf_counter() - started)
    return min(times) / (REPEATS * CHAINS)


def nutpie_nuts() -> Sampler:
    """Nutpie's NUTS, with its own mass matrix from draws and gradients."""
    return Sampler("nutpie", run_nutpie)


def nutpie_reparametrised() -> Sampler:
    """Nutpie with `auto_reparam`, which learns centrings in warm-up: not in any release yet, and so left out.

    Release 0.16.11 does not have it. What is proposed is an argument of `compile_pymc_model`, for PyMC models alone.
    """
    return Sampler("nutpie, auto_reparam", _refuse_auto_reparam)


def walnuts() -> Sampler:
    """WALNUTS of walnutpie, with steps that are halved where the energy error is large."""
    return Sampler("WALNUTS", _run_walnuts)


def run_nutpie(task: SamplerTask, plan: RunPlan, raw_logp_fn: Any = None, **settings: Any) -> SamplerOutcome:
    """One run of `nutpie.sample` with its settings; normalizing flows need the log density in JAX, `raw_logp_fn`."""
    nutpie = require("nutpie", "peers", "This peer")
    density, dimension = CallbackDensity(task.target), task.target.dimension
    model = nutpie.compiled_pyfunc.from_pyfunc(
        dimension,
        lambda: density,
        _expand,
        [np.dtype("float64")],
        [(dimension,)],
        ["x"],
        raw_logp_fn=raw_logp_fn,
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
        **settings,
    )
    seconds = time.perf_counter() - started
    return SamplerOutcome(
        task.variables(np.asarray(trace.posterior["x"])),
        density.count,
        seconds,
        density.compile_seconds,
        int(trace.sample_stats["diverging"].sum()),
        density.count * compiled_gradient_seconds(task),
    )


def _refuse_auto_reparam(_task: SamplerTask, _plan: RunPlan) -> SamplerOutcome:
    raise SettingError("no release of nutpie has auto_reparam, and it is proposed for PyMC models alone.")


def _expand(*_: Any) -> Any:
    return lambda x, **_: {"x": np.asarray(x, dtype="float64")}


def _run_walnuts(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
    run = run_walnuts(CallbackDensity(task.target), task.target.dimension, **plan._asdict())
    return SamplerOutcome(
        task.variables(run.positions),
        run.n_grad,
        run.seconds,
        run.compile_seconds,
        None,
        run.n_grad * compiled_gradient_seconds(task),
    )
