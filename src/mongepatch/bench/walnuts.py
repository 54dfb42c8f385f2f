"""WALNUTS of walnutpie, through a callback."""

import time
from typing import NamedTuple

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


def walnuts(target: Target, *, draws: int, warmup: int, chains: int, seed: int) -> Walk:
    """Steps that are halved where energy is not kept; all else is tuned by itself."""
    walnutpie = require("walnutpie", "peers", "WALNUTS")
    callback = Callback(target)
    started = time.perf_counter()
    made = walnutpie.walnuts_pyfunc(
        callback,
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
    return Walk(positions, callback.count, seconds, callback.compile_seconds)
