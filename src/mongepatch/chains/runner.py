"""Chains that move on, chunk by chunk, so that somebody can watch."""

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import in_threads, is_on_accelerator, near_host, on_host
from mongepatch._typing import LogDensity, PRNGKey
from mongepatch.chains.chunks import capacity_of, run_chunk
from mongepatch.chains.draws import Chunk, StepSizePolicy, Tuning
from mongepatch.chains.placement import Placement
from mongepatch.chains.waiting import wait_until_ready
from mongepatch.kernels import Info, Kernel
from mongepatch.program import jit
from mongepatch.trajectories import meaningless_statistics

P = TypeVar("P", bound=StepSizePolicy)

_CHUNK_SECONDS = 0.5
"""How long a chunk should take: short enough to report on, long enough that reporting costs nothing."""
_SHARED = ("step_size", "alpha")
"""What is the same for all chains, and copied from an accelerator once."""


class Report(Protocol):
    """Told of every finished chunk."""

    def __call__(self, info: Info, seconds: float) -> None:
        """Take the info of some draws, with leading axes (draw, chain), and how long they took."""


class Record(NamedTuple):
    """What chains did, as arrays with leading axes (chain, draw)."""

    position: np.ndarray
    """Flat positions in the model's own coordinates."""
    internal: np.ndarray | None
    """Flat positions in the coordinates that chains move in, where they were asked for; of some chains, where there are
    many."""
    gradient: np.ndarray | None
    """Gradients of the log density in these."""
    info: Info

    @property
    def stats(self) -> dict[str, np.ndarray]:
        """The variables of `sample_stats`."""
        stats = self.info._asdict()
        extra: dict[str, np.ndarray] = stats.pop("extra")
        return stats | extra

    def without(self, names: Collection[str]) -> "Record":
        """The same without some statistics of its kernel or trajectory."""
        extra = {name: values for name, values in self.info.extra.items() if name not in names}
        return self._replace(info=self.info._replace(extra=extra))


class Runner:
    """Moves chains on and counts their draws, so that each draw of a run has a number and a randomness of its own."""

    def __init__(
        self, key: PRNGKey, density: LogDensity, kernel: Kernel, report: Report, placement: Placement | None = None
    ) -> None:
        self.density, self.kernel = density, kernel
        self.placement = Placement() if placement is None else placement
        self._key, self._report = key, report
        self.done = 0
        """Draws of each chain so far, by whose numbers randomness is made."""
        self._count = 1
        self._program: Any = None
        """What decides which program the last chunk was made by: the structure and the types of its arguments."""
        self.compiling: list[Future[Any] | None] = []
        """The next samplers, in the order in which they are needed; None for those that `compile_ahead` leaves out."""
        self.seconds = 0.0
        """How long draws took, compilation excluded."""
        self.waited = 0.0
        """How long it waited for samplers that were compiled ahead."""

    def __call__(
        self,
        points: Any,
        tuning: Tuning,
        policy: P,
        draws: int,
        *,
        internals: int = 0,
        columns: np.ndarray | None = None,
    ) -> tuple[Any, P, Record]:
        """Make this many draws of every chain.

        Args:
            points: where chains are.
            tuning: tuning parameters.
            policy: where the step size comes from.
            draws: draws of each chain.
            internals: internal positions and gradients are kept of chains whose number this divides; 0 for none.
            columns: entries of the model's positions to keep; by default all.
        """
        parts = []
        chunks = self.chunks(points, tuning, policy, draws, internals=internals, columns=columns)
        for points, policy, rows in chunks:  # noqa: B007  # the last ones are where chains end
            parts.append(rows)
        return points, policy, joined(parts)

    def chunks(
        self,
        points: Any,
        tuning: Tuning,
        policy: P,
        draws: int,
        *,
        internals: int = 0,
        columns: np.ndarray | None = None,
    ) -> Iterator[tuple[Any, P, Record]]:
        """Make this many draws; yield points, policy and draws, with axes (draw, chain), after each chunk.

        An accelerator makes the next chunk while draws are copied from it, and while somebody looks at them.
        """
        made, begun, elsewhere = 0, None, 0.0
        first = -self.placement.offset % internals if internals else 0
        if draws:
            self._compile(points, tuning, policy)
        while made < draws:
            resumed = time.perf_counter()
            count, started, found = begun or self._begin(points, tuning, policy, draws - made)
            wait_until_ready(found)
            points, policy, buffers = found
            # A chunk that was begun ahead has also waited for whoever looks at the last one.
            elapsed = max(time.perf_counter() - started - elsewhere, 1e-6)
            self._count = max(1, min(int(count * _CHUNK_SECONDS / elapsed), max(10 * count, self._count)))
            made += count
            self.done += count
            copy = _selected(buffers, count, draws, internals, columns, first)
            goes_on = made < draws and is_on_accelerator(buffers.position)
            begun = self._begin(points, tuning, policy, draws - made) if goes_on else None
            rows = copy().without(meaningless_statistics(tuning.trajectory))
            self._report(rows.info, elapsed)
            left = time.perf_counter()
            self.seconds += left - resumed
            yield points, policy, rows
            elsewhere = time.perf_counter() - left if goes_on else 0.0

    def _compile(self, points: Any, tuning: Tuning, policy: Any) -> None:
        """Compile, and draw nothing, where the last chunk was another program's."""
        leaves, structure = jax.tree.flatten((points, tuning, policy))
        program = structure, tuple(map(jax.typeof, leaves))
        if program != self._program:
            started = time.perf_counter()
            wait([future for future in self.compiling[:1] if future is not None])
            self.waited += time.perf_counter() - started
            self.compiling = self.compiling[1:]
            wait_until_ready(self._begin(points, tuning, policy, 0))
            self._program = program

    def _begin(self, points: Any, tuning: Tuning, policy: P, most: int) -> tuple[int, float, tuple[Any, P, Chunk]]:
        """Begin a chunk of at most so many draws: how many it has, when it was begun, and what it will lead to."""
        capacity, started = capacity_of(points.position), time.perf_counter()
        count = min(self._count, most, capacity)
        made: tuple[Any, P, Chunk] = run_chunk(
            self._key,
            points,
            policy,
            self.done,
            count,
            self.density,
            tuning,
            kernel=self.kernel,
            capacity=capacity,
            placement=self.placement,
        )
        return count, started, made


def _selected(
    buffers: Chunk, count: int, asked: int, internals: int, columns: np.ndarray | None, first: int = 0
) -> Callable[[], Record]:
    """The first rows of a chunk, as a function that copies them to the host.

    A device selects them now: it would do so after the next chunk, if that had begun.

    Args:
        buffers: the chunk.
        count: its draws.
        asked: draws that were asked for, in this chunk and others.
        internals: of every so many chains internal positions and gradients are kept; 0 for none.
        columns: entries of positions to keep; by default all.
        first: the first of these chains.
    """
    if is_on_accelerator(buffers.position):
        # Results have axes (chain, draw), which the device changes in no time. How many rows it copies depends on the
        # request alone, and not on the clock, by which chunks are cut: a program for another number takes half a second
        # to compile.
        rows = min(len(buffers.position), 4 ** math.ceil(math.log(asked, 4)))
        turned = near_host(_chains_first(buffers, columns, rows=rows, internals=internals, first=first))
        return lambda: _draws_first(on_host(turned, np.s_[:, :count]))
    position = buffers.position if columns is None else _take(buffers.position, columns)
    extra = (buffers.internal, buffers.gradient) if internals else ()

    def copy() -> Record:
        whole = (position, extra, buffers.info)
        positions, internal_rows, info = jax.tree.map(lambda buffer: np.asarray(buffer)[:count], whole)
        internal, gradient = (rows[:, first::internals] for rows in internal_rows) if internals else (None, None)
        return Record(positions, internal, gradient, info)

    return copy


def _draws_first(copied: Any) -> Record:
    """Arrays that an accelerator has turned, with axes (draw, chain) again."""
    record = Record(*jax.tree.map(lambda array: array.swapaxes(0, 1), copied))
    shared: dict[str, Any] = {
        name: np.broadcast_to(getattr(record.info, name), record.info.lp.shape) for name in _SHARED
    }
    return record._replace(info=record.info._replace(**shared))


@partial(jit, static_argnames=("rows", "internals", "first"), quick=True)
def _chains_first(buffers: Chunk, columns: jax.Array | None, *, rows: int, internals: int, first: int) -> Any:
    """The first rows of a chunk with axes (chain, draw): positions, of which some entries are taken, and all else."""
    position = buffers.position[:rows]
    position = position if columns is None else jnp.take(position, columns, axis=-1)
    extra = [array[:, first::internals] if internals else None for array in (buffers.internal, buffers.gradient)]
    info = buffers.info._replace(**{name: getattr(buffers.info, name)[:, :1] for name in _SHARED})
    return jax.tree.map(lambda array: array[:rows].swapaxes(0, 1), (position, *extra, info))


@partial(jit, quick=True)
def _take(positions: jax.Array, columns: jax.Array) -> jax.Array:
    """Some entries of positions, on the device, so that the others are not copied from it."""
    return jnp.take(positions, columns, axis=-1)


def concatenated(parts: Sequence[Record]) -> Record:
    """Chunks as one, with the same axes (draw, chain)."""
    if len(parts) == 1:
        return parts[0]
    whole: Record = jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
    return whole


def joined(parts: Sequence[Record]) -> Record:
    """Chunks as one record, with axes (chain, draw): arrays that can be written to, and keep no chunk in memory."""
    leaves, structures = zip(*(jax.tree.flatten(part) for part in parts), strict=True)
    size = sum(array.nbytes for arrays in leaves for array in arrays)
    made = in_threads(_joined, list(zip(*leaves, strict=True)), size)
    whole: Record = jax.tree.unflatten(structures[0], made)
    return whole


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays with axes (draw, chain) as one with axes (chain, draw)."""
    arrays = [part.swapaxes(0, 1) for part in parts]
    first = arrays[0]
    if len(arrays) == 1 and first.flags.writeable and first.flags.c_contiguous:  # a copy from an accelerator
        return first
    shape = first.shape[0], sum(array.shape[1] for array in arrays), *first.shape[2:]
    return np.concatenate(arrays, axis=1, out=np.empty(shape, first.dtype))
