"""WALNUTS of walnutpie, and the paper's funnel in machine code for it.

A callback into Python for each gradient of the funnel would take hours.
"""

import ctypes
import time
from math import exp, log, log1p
from typing import Any, NamedTuple, Protocol, no_type_check

import numpy as np

from mongepatch._extras import require

DEPTH = 10
"""Doublings of a trajectory, as many as the other samplers may make; walnutpie's own limit is 5."""


class WalnutsRun(NamedTuple):
    """Draws of WALNUTS with their cost."""

    positions: np.ndarray
    """Flat, [chain, draw, D]."""
    n_grad: int
    seconds: float
    compile_seconds: float


class WalnutsDensity(Protocol):
    """A log density with its gradient, as walnutpie takes it."""

    logp: Any
    compile_seconds: float

    @property
    def count(self) -> int:
        """Number of evaluations so far."""


def walnuts(
    density: WalnutsDensity,
    dimension: int,
    *,
    draws: int,
    warmup: int,
    chains: int,
    seed: int,
    init_radius: float = 2.0,
) -> WalnutsRun:
    """Sample with steps that are halved where the energy error is large; walnutpie tunes all else itself.

    Args:
        density: the log density and its gradient, compiled or as a callback into Python.
        dimension: number of parameters.
        draws: of each chain to keep.
        warmup: of each chain, before.
        chains: how many.
        seed: an integer.
        init_radius: of the cube around 0 in which chains start.
    """
    walnutpie = require("walnutpie", "peers", "WALNUTS")
    started = time.perf_counter()
    made = walnutpie.walnuts_pyfunc(
        density.logp,
        num_params=dimension,
        num_chains=chains,
        seed=seed,
        init_radius=init_radius,
        # By itself it stops as soon as chains agree with each other. Here it draws as much as the other samplers.
        min_warmup_iter=warmup,
        max_warmup_iter=warmup,
        min_sampling_iter=draws,
        max_sampling_iter=draws,
        max_trajectory_doublings=DEPTH,
    )
    seconds = time.perf_counter() - started
    positions = np.stack([np.asarray(chain) for chain in made])
    return WalnutsRun(positions, density.count, seconds, density.compile_seconds)


class CompiledFunnel:
    """Log density and gradient of `targets.funnel`, compiled by numba, with a count of evaluations."""

    def __init__(self) -> None:
        numba = require("numba", "peers", "WALNUTS")
        walnutpie = require("walnutpie", "peers", "WALNUTS")
        numbers = numba.types.CPointer(numba.types.float64)
        counts = numba.types.CPointer(numba.types.int64)
        signature = numba.types.int32(numba.types.uintp, numbers, numbers, numbers, counts)
        self._function = numba.cfunc(signature)(_funnel)
        self._counter = np.zeros(1, np.int64)
        pointer = self._counter.ctypes.data_as(ctypes.c_void_p)
        self.logp: Any = (walnutpie.logp_cfunc_type(self._function.address), pointer)
        """As walnutpie takes it."""
        self.compile_seconds = 0.0

    @property
    def count(self) -> int:
        """Number of evaluations, or slightly less: two threads may increase the counter at the same time."""
        return int(self._counter[0])


@no_type_check  # numba compiles plain functions, and not those that check their arguments in tests
def _funnel(size: int, position: Any, gradient: Any, value: Any, counter: Any) -> int:
    """Plain loops, which numba compiles."""
    a = position[size - 1]
    variance = max(a, 0.0) + log1p(exp(-abs(a)))
    slope = 1.0 / (1.0 + exp(-a)) / variance  # of the log variance
    squares = 0.0
    for i in range(size - 1):
        squares += position[i] * position[i]
        gradient[i] = -position[i] / variance
    value[0] = -0.5 * (squares / variance + (size - 1) * log(variance) + a * a / 15.0)
    gradient[size - 1] = 0.5 * slope * (squares / variance - (size - 1)) - a / 15.0
    counter[0] += 1
    return 0
