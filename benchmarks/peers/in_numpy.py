"""mici, which is written in NumPy, and nutpie's normalizing flows: both call a compiled gradient from Python."""

import time

import numpy as np

from benchmarks.patches.samplers import RunPlan, Sampler, SamplerOutcome, SamplerTask
from benchmarks.patches.samplers.callbacks import CallbackDensity, run_nutpie
from mongepatch._extras import require
from mongepatch._typing import Scalar, Vector


def mici_nuts() -> Sampler:
    """Dynamic HMC of mici, with step size and variances found by its adapters."""
    return Sampler("mici", _run_mici)


def nutpie_flows() -> Sampler:
    """NUTS of nutpie in coordinates that a normalizing flow learns in warm-up."""
    return Sampler("nutpie, flows", _run_flows)


FLOW_WARMUP = 1500
"""nutpie's page on flows asks for so many draws of warm-up."""


def _run_mici(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
    mici = require("mici", "peers", "This peer")
    density = CallbackDensity(task.target)

    def gradient(position: np.ndarray) -> tuple[np.ndarray, float]:
        value, slope = density(position)
        return -slope, -value

    started = time.perf_counter()
    _, traces, stats = mici.sample_hmc_chains(
        n_warm_up_iter=plan.warmup,
        n_main_iter=plan.draws,
        init_states=list(np.asarray(task.starts(plan), float)),
        neg_log_dens=lambda position: -density(position)[0],
        grad_neg_log_dens=gradient,
        seed=plan.seed,
        adapters=[mici.adapters.DualAveragingStepSizeAdapter(), mici.adapters.OnlineVarianceMetricAdapter()],
        display_progress=False,
    )
    seconds = time.perf_counter() - started
    positions = np.stack([np.asarray(chain) for chain in traces["pos"]])
    diverged = sum(int(np.sum(chain)) for chain in stats["diverging"])
    return SamplerOutcome(task.variables(positions), density.count, seconds, density.compile_seconds, diverged)


def _run_flows(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
    require("flowjax", "peers", "This peer")

    def raw(position: Vector) -> tuple[Scalar, None]:
        return task.target.logdensity(position), None  # nutpie reads the first alone

    return run_nutpie(task, plan._replace(warmup=FLOW_WARMUP), raw_logp_fn=raw, transform_adapt=True)
