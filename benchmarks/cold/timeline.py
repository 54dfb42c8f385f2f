"""Where the time of a call goes: JAX reports tracing, lowering and compilation as they end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax.monitoring

from mongepatch.program.stopwatch import covered

EVENTS = {
    "tracing": "/jax/core/compile/jaxpr_trace_duration",
    "lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "compiling": "/jax/core/compile/backend_compile_duration",
}


class Timeline(NamedTuple):
    """Seconds of a call; its parts may overlap, since a thread compiles while others go on."""

    wall: float
    cpu: float
    """Of all threads: steadier than the wall clock where other programs run."""
    tracing: float
    lowering: float
    compiling: float
    programs: int
    """Compiled."""
    other: float
    """In which nothing was traced, lowered or compiled."""


@contextmanager
def timeline() -> Iterator[list[Timeline]]:
    """Time a block; the list has its only entry when the block has ended."""
    intervals: dict[str, list[tuple[float, float]]] = {kind: [] for kind in EVENTS}
    kinds = {event: kind for kind, event in EVENTS.items()}

    def heard(event: str, duration_secs: float, **_: Any) -> None:
        if event in kinds:
            now = time.perf_counter()
            intervals[kinds[event]].append((now - duration_secs, now))

    jax.monitoring.register_event_duration_secs_listener(heard)
    found: list[Timeline] = []
    started, cpu = time.perf_counter(), time.process_time()
    try:
        yield found
    finally:
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        jax.monitoring.unregister_event_duration_listener(heard)
        every = [interval for kind in intervals.values() for interval in kind]
        seconds = {kind: covered(own) for kind, own in intervals.items()}
        other = max(0.0, wall - covered(every))
        found.append(Timeline(wall, cpu, **seconds, programs=len(intervals["compiling"]), other=other))
