"""`mongepatch.sample`, `pm.sample` and nutpie on one PyMC model."""

import os
import time
from functools import cache
from typing import Any

import numpy as np

from benchmarks.patches.samplers import RunPlan, Sampler, SamplerOutcome, SamplerTask
from benchmarks.patches.samplers.in_jax import run_ours
from mongepatch import from_pymc
from mongepatch._extras import require


def ours(model: Any, metric: str) -> Sampler:
    """`mongepatch.sample` in a metric by name, all else automatic. Reading the model counts as compiling."""

    def run(_: SamplerTask, plan: RunPlan) -> SamplerOutcome:
        started = time.perf_counter()
        target = from_pymc(model)
        reading = time.perf_counter() - started
        outcome = run_ours(target, plan, metric=metric)
        return outcome._replace(compile_seconds=reading + outcome.compile_seconds)

    return Sampler(f"ours, {metric}", run)


def pymc_nuts(model: Any) -> Sampler:
    """`pm.sample()`."""
    pm = require("pymc", "pymc", "This benchmark")

    def run(_: SamplerTask, plan: RunPlan) -> SamplerOutcome:
        started = time.perf_counter()
        with model:
            trace = pm.sample(
                **_plan(plan), random_seed=plan.seed, progressbar=False, quiet=True, compute_convergence_checks=False,
                discard_tuned_samples=False,
            )  # fmt: skip
        total = time.perf_counter() - started
        sampling = float(trace.posterior.attrs["sampling_time"])
        return _outcome(trace, sampling, total - sampling)

    return Sampler("pm.sample", run)


def nutpie_nuts(model: Any, name: str = "nutpie", **settings: Any) -> Sampler:
    """nutpie, as PyMC's users call it: compiled by numba, once for all runs. Settings are of `nutpie.sample`."""
    nutpie = require("nutpie", "peers", "This benchmark")
    compiled = cache(lambda: nutpie.compile_pymc_model(model))

    def run(_: SamplerTask, plan: RunPlan) -> SamplerOutcome:
        started = time.perf_counter()
        program = compiled()
        compiling = time.perf_counter() - started
        started = time.perf_counter()
        trace = nutpie.sample(program, **_plan(plan), seed=plan.seed, progress_bar=False, save_warmup=True, **settings)
        return _outcome(trace, time.perf_counter() - started, compiling)

    return Sampler(name, run)


def _plan(plan: RunPlan) -> dict[str, int]:
    cores = min(plan.chains, os.cpu_count() or 1)
    return {"draws": plan.draws, "tune": plan.warmup, "chains": plan.chains, "cores": cores}


def _outcome(trace: Any, seconds: float, compile_seconds: float) -> SamplerOutcome:
    stats = (trace["sample_stats"], trace["warmup_sample_stats"])
    return SamplerOutcome(
        {str(name): np.asarray(values) for name, values in trace["posterior"].data_vars.items()},
        sum(int(group["n_steps"].sum()) for group in stats),
        seconds,
        compile_seconds,
        int(stats[0]["diverging"].sum()),
    )
