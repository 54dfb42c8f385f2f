"""WALNUTS of walnutpie, through a callback."""

import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from mongepatch._extras import require
from mongepatch.bench.callback import Callback
from mongepatch.targets import Target

DEPTH = 10
"""Doublings of a trajectory, as many as the other samplers may make; walnutpie's own limit is 5."""


class Walk(NamedTuple):
    """What it made."""

    positions: np.ndarray
    """Flat, [chain, draw, D]."""
    n_grad: int
    seconds: float
    compile_seconds: float


class Density(Protocol):
    """A log density with its gradient, as walnutpie takes it."""

    logp: Any
    compile_seconds: float

    @property
    def count(self) -> int:
        """How often it was asked."""


def walnuts(
    target: Target, *, draws: int, warmup: int, chains: int, seed: int, compiled: Density | None = None
) -> Walk:
    """Steps that are halved where energy is not kept; all else is tuned by itself.

    Args:
        target: what to sample.
        draws: of each chain to keep.
        warmup: of each chain, before.
        chains: how many.
        seed: a whole number.
        compiled: the same density in machine code; by default each gradient is a callback into Python.
    """
    walnutpie = require("walnutpie", "peers", "WALNUTS")
    density = Callback(target) if compiled is None else compiled
    started = time.perf_counter()
    made = walnutpie.walnuts_pyfunc(
        density.logp,
        num_params=target.dimension,
        num_chains=chains,
        seed=seed,
        # It would stop as soon as chains agree with each other; they shall have as many draws as the rest.
        min_warmup_iter=warmup,
        max_warmup_iter=warmup,
        min_sampling_iter=draws,
        max_sampling_iter=draws,
        max_trajectory_doublings=DEPTH,
    )
    seconds = time.perf_counter() - started
    positions = np.stack([np.asarray(chain) for chain in made])
    return Walk(positions, density.count, seconds, density.compile_seconds)
