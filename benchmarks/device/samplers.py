"""Samplers on a device: ours with everything automatic, ours with NUTS, and BlackJAX's NUTS."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.device.bias import MANY
from benchmarks.device.problems import DeviceProblem
from benchmarks.measures.effective_size import effective_size
from mongepatch import baselines
from mongepatch.chains.effective_size import effective_sizes_by_chains
from mongepatch.paper.quiet import sample_quietly
from mongepatch.program.stopwatch import stopwatch

if TYPE_CHECKING:
    from xarray import DataTree

WARMUP = 100
"""Draws of warm-up of our sampler, which pools chains. BlackJAX adapts each chain on its own, with five times as many
draws."""


class DeviceRow(NamedTuple):
    """Measurements of a call."""

    first_seconds: float
    """Of the first call, with compilation."""
    call_seconds: float
    """From the call to the result, without compilation."""
    warmup_seconds: float
    sampling_seconds: float
    """Both with copies from the device to the host."""
    draws_per_second: float
    effective_per_second: float
    values: np.ndarray
    """What is measured, [chain, draw]."""


Calls = Callable[[int], "DataTree"]
"""A run for a seed."""


def automatic(problem: DeviceProblem, chains: int, draws: int, **settings: Any) -> Calls:
    """`mongepatch.sample`."""
    settings |= {"chains": chains, "draws": draws, "warmup": WARMUP, "keep": [problem.variable], "progress": False}
    call = partial(sample_quietly, problem.build(), **settings)
    return lambda seed: call(seed=seed)


def blackjax_nuts(problem: DeviceProblem, chains: int, draws: int) -> Calls:
    """BlackJAX's NUTS."""
    call = partial(baselines.nuts, problem.build(), chains=chains, draws=draws, warmup=5 * WARMUP)
    return lambda seed: call(seed=seed)


SAMPLERS: Mapping[str, Callable[[DeviceProblem, int, int], Calls]] = {
    "ours": automatic,
    "ours, NUTS": partial(automatic, metric="euclidean", trajectory="nuts"),
    "BlackJAX NUTS": blackjax_nuts,
}


def measured(problem: DeviceProblem, calls: Calls, seconds_left: float) -> DeviceRow:
    """The second of two calls; the first, without its compilation, where there is no time for a second."""
    with stopwatch() as first:
        tree = calls(0)
    watch, call_seconds = first, first.running
    if first.running < seconds_left - first.total:
        with stopwatch() as watch:
            tree = calls(1)
        call_seconds = watch.total
    values = problem.values(np.asarray(tree["posterior"][problem.variable]))
    warmup, seconds = (float(tree["posterior"].attrs[name]) for name in ("warmup_time", "sampling_time"))
    rates = values.size / seconds, effective_draws(values) / seconds
    return DeviceRow(first.total, call_seconds, warmup, seconds, *rates, values)


def effective_draws(values: np.ndarray) -> float:
    """Effective size of the mean of [chain, draw]: of many chains, by the spread of their own means."""
    if len(values) < MANY:
        return effective_size(values, "bulk")
    return float(effective_sizes_by_chains(values[..., None])[0])
