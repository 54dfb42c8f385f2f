"""Times of calls in turns, and runs that compile once."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.experimental.compilation_cache import compilation_cache


def seconds_of(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, np.ndarray]:
    """Times of each call, taken in turns: a slow moment of a shared machine then slows all of them."""
    for call in calls.values():
        jax.block_until_ready(call())
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.perf_counter()
            jax.block_until_ready(call())
            times[name].append(time.perf_counter() - started)
    return {name: np.array(values) for name, values in times.items()}


@contextmanager
def compiled_once() -> Iterator[None]:
    """Keep compiled programs of a block on disk: NumPyro compiles the same program again for each run.

    The folder is new, so that the first run in the block shows the time of compilation.
    """
    before = jax.config.values["jax_compilation_cache_dir"]
    with tempfile.TemporaryDirectory() as folder:
        _keep_programs_in(folder)
        try:
            yield
        finally:
            _keep_programs_in(before)


def _keep_programs_in(folder: str | None) -> None:
    jax.config.update("jax_compilation_cache_dir", folder)
    compilation_cache.reset_cache()  # JAX would otherwise go on using the first folder
