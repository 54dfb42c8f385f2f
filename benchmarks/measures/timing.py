"""Times: of calls in turns, and of a block with compilation counted separately, as JAX reports it."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax
import jax.monitoring
import numpy as np
from jax.experimental.compilation_cache import compilation_cache

_PREFIX = "/jax/core/compile/"
_open: list[list[tuple[float, float]]] = []


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


class Stopwatch:
    """Seconds of a block: in total, and of compilation alone."""

    def __init__(self) -> None:
        self.total = 0.0
        self.compiling = 0.0

    @property
    def running(self) -> float:
        """Seconds without compilation."""
        return self.total - self.compiling


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Time a block."""
    _listen()
    watch, intervals = Stopwatch(), list[tuple[float, float]]()
    _open.append(intervals)
    started = time.perf_counter()
    try:
        yield watch
    finally:
        watch.total = time.perf_counter() - started
        watch.compiling = min(watch.total, covered(intervals))
        # By identity: two blocks that are open at once may have heard the same.
        _open[:] = [other for other in _open if other is not intervals]


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


def covered(intervals: list[tuple[float, float]]) -> float:
    """Length of the union of intervals: traces are nested, and must not count twice."""
    total, end = 0.0, -float("inf")
    for first, last in sorted(intervals):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


@cache
def _listen() -> None:
    """Register the listener once in a process: JAX cannot remove a single one."""
    jax.monitoring.register_event_duration_secs_listener(_heard)


def _heard(event: str, duration_secs: float, **_: Any) -> None:
    if event.startswith(_PREFIX):
        now = time.perf_counter()
        for intervals in _open:
            intervals.append((now - duration_secs, now))
