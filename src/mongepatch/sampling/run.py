"""A run from its first draw to its last, chunk by chunk."""

import time
from collections.abc import Mapping
from typing import NamedTuple

import jax
import numpy as np

from mongepatch._typing import PRNGKey
from mongepatch.kernels import Info, Kernel, State
from mongepatch.sampling.chunks import Rows, Settings, run_chunk
from mongepatch.sampling.progress import Report
from mongepatch.targets.layout import Layout
from mongepatch.targets.program import Program

_CHUNK_SECONDS = 0.5
"""How long a chunk should take: short enough to report on, long enough that reporting costs nothing."""
_CHUNK_DRAWS, _CHUNK_BYTES = 8192, 64 * 2**20
"""How much a chunk may hold. It does not depend on the draws asked for, so that asking for more compiles nothing."""


class Result(NamedTuple):
    """Arrays with leading axes (chain, draw), and how long the draws took, compilation excluded."""

    draws: Mapping[str, np.ndarray]
    stats: Mapping[str, np.ndarray]
    seconds: float


def run(
    key: PRNGKey,
    states: State,
    density: Program,
    settings: Settings,
    *,
    layout: Layout,
    kernel: Kernel,
    warmup: int,
    draws: int,
    report: Report,
) -> Result:
    """Make `warmup` draws of every chain and forget them, then `draws` more and keep them."""
    chains, total = states.logdensity.shape[0], warmup + draws
    capacity = min(_CHUNK_DRAWS, max(1, _CHUNK_BYTES // (8 * chains * (layout.size + len(Info._fields)))))

    def chunk(states: State, first: int, count: int) -> tuple[State, Rows]:
        made: tuple[State, Rows] = run_chunk(
            key,
            states,
            first,
            count,
            density,
            settings,
            layout=layout,
            kernel=kernel,
            capacity=capacity,
        )
        return jax.block_until_ready(made)

    chunk(states, 0, 0)  # compiles, and draws nothing
    kept: Rows | None = None
    done, count = 0, 1
    started = time.perf_counter()
    while done < total:
        # A chunk ends with the warm-up, so that it is kept as a whole or forgotten as a whole.
        count = min(count, (warmup if done < warmup else total) - done)
        chunk_started = time.perf_counter()
        states, buffers = chunk(states, done, count)
        elapsed = time.perf_counter() - chunk_started
        rows = _head(buffers, count)
        report(rows.info, elapsed)
        if done >= warmup:
            kept = _keep(kept, rows, done - warmup, draws)
        done += count
        count = max(1, min(int(count * _CHUNK_SECONDS / elapsed), 10 * count, capacity))
    assert kept is not None  # there is at least one draw
    stats = kept.info._asdict()
    return Result(kept.draws, stats | stats.pop("extra"), time.perf_counter() - started)


def _head(buffers: Rows, count: int) -> Rows:
    """The first rows of a chunk, on the host."""
    rows: Rows = jax.tree.map(lambda buffer: np.asarray(buffer)[:count], buffers)
    return rows


def _keep(kept: Rows | None, rows: Rows, first: int, draws: int) -> Rows:
    """Put a chunk's rows where they belong among all draws, with the axes in ArviZ's order."""
    if kept is None:
        kept = jax.tree.map(lambda row: np.empty((row.shape[1], draws, *row.shape[2:]), row.dtype), rows)

    def place(whole: np.ndarray, part: np.ndarray) -> np.ndarray:
        whole[:, first : first + len(part)] = part.swapaxes(0, 1)
        return whole

    placed: Rows = jax.tree.map(place, kept, rows)
    return placed
