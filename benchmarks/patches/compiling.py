"""How much of a time went into compiling, as JAX tells it."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax
import jax.monitoring
from jax.experimental.compilation_cache import compilation_cache

_PREFIX = "/jax/core/compile/"
_open: list[list[tuple[float, float]]] = []


class Stopwatch:
    """Seconds of a block, all and of compilation alone."""

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
        watch.compiling = min(watch.total, _covered(intervals))
        _open.remove(intervals)


@contextmanager
def compiled_once() -> Iterator[None]:
    """Keep what is compiled within a block on disk: NumPyro compiles the same program again for each run.

    The first run tells how long compiling takes, since nothing is left of a block before.
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
    compilation_cache.reset_cache()  # JAX remembers the folder that it used first, and would go on using it


def _covered(intervals: list[tuple[float, float]]) -> float:
    """Length of the union of intervals: traces lie within traces, and must not count twice."""
    total, end = 0.0, -float("inf")
    for first, last in sorted(intervals):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


@cache
def _listen() -> None:
    """Once in a process: JAX has no way to stop listening."""
    jax.monitoring.register_event_duration_secs_listener(_heard)


def _heard(event: str, duration_secs: float, **_: Any) -> None:
    if event.startswith(_PREFIX):
        now = time.perf_counter()
        for intervals in _open:
            intervals.append((now - duration_secs, now))
