"""Timing that compares within one run, since machines are shared and noisy."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np


def seconds_of(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, np.ndarray]:
    """Times of each call, taken in turns so that a slow moment of the machine slows all of them."""
    for call in calls.values():
        jax.block_until_ready(call())
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.perf_counter()
            jax.block_until_ready(call())
            times[name].append(time.perf_counter() - started)
    return {name: np.array(values) for name, values in times.items()}
