"""Peers that take a PyMC model: `pm.sample`, nutpie, and WALNUTS with the gradient that nutpie compiles."""

import ctypes
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.samplers import RunPlan, Sampler, SamplerOutcome, SamplerTask
from benchmarks.pymc.models import pymc_models
from mongepatch._extras import require
from mongepatch.paper.walnuts import walnuts as run_walnuts

RADIUS = 0.5
"""Of the starting points of WALNUTS, which stops where the first gradient is not finite. PyTensor's gradient of a
regression is not where a logit is above 37, as at some points within the default radius of 2."""


def in_pymc(make: Callable[[Any], Sampler]) -> Callable[[NumpyroProblem], Sampler]:
    """A sampler for the PyMC twin of a problem, made from what takes a PyMC model."""
    return lambda problem: make(pymc_models()[problem.name](*problem.data))


class MachineDensity:
    """A log density with its gradient in machine code, as nutpie compiles it of a PyMC model.

    Evaluations are not counted. Flat positions have the order of the NumPyro twin.
    """

    count = 0

    def __init__(self, model: Any) -> None:
        started = time.perf_counter()
        self._compiled = require("nutpie", "peers", "This peer").compile_pymc_model(model)  # owns the code
        function = require("walnutpie", "peers", "This peer").logp_cfunc_type(self._compiled.compiled_logp_func.address)
        self.logp: Any = (function, self._compiled.user_data.ctypes.data_as(ctypes.c_void_p))
        """As walnutpie takes it."""
        self.compile_seconds = time.perf_counter() - started


def walnuts(model: Any) -> Sampler:
    """WALNUTS of walnutpie, with steps that are halved where the energy error is large."""
    compiled = cache(lambda: MachineDensity(model))

    def run(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
        started = time.perf_counter()
        density, dimension = compiled(), task.target.dimension
        compiling = time.perf_counter() - started
        made = run_walnuts(density, dimension, init_radius=RADIUS, **plan._asdict())
        return SamplerOutcome(task.variables(made.positions), 0, made.seconds, compiling, None)

    return Sampler("WALNUTS", run)
