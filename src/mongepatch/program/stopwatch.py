"""Seconds of a block of code, with those of compilation counted separately, as JAX reports them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax.monitoring

_PREFIX = "/jax/core/compile/"
_Interval = tuple[float, float]
_open: list[tuple[int | None, list[_Interval]]] = []
"""For each block that is open, the thread whose compilation counts, None for all, and when JAX compiled."""


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
def stopwatch(*, this_thread: bool = False) -> Iterator[Stopwatch]:
    """Time a block; with `this_thread`, what others compile meanwhile is not counted as compilation."""
    _listen()
    watch = Stopwatch()
    heard: tuple[int | None, list[_Interval]] = (threading.get_ident() if this_thread else None, [])
    _open.append(heard)
    started = time.perf_counter()
    try:
        yield watch
    finally:
        watch.total = time.perf_counter() - started
        watch.compiling = min(watch.total, covered(heard[1]))
        # By identity: two blocks that are open at once may have heard the same.
        _open[:] = [other for other in _open if other is not heard]


def covered(intervals: list[_Interval]) -> float:
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
        now, here = time.perf_counter(), threading.get_ident()
        for thread, intervals in _open:
            if thread in (None, here):
                intervals.append((now - duration_secs, now))
