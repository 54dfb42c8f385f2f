"""Chains that move on, chunk by chunk, so that somebody can watch."""

import math
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import LogDensity, PRNGKey
from mongepatch.chains.chunks import capacity_of, run_chunk
from mongepatch.chains.draws import Chunk, StepSizePolicy, Tuning
from mongepatch.chains.placement import Placement
from mongepatch.chains.waiting import wait_until_ready
from mongepatch.kernels import Info, Kernel
from mongepatch.program import jit

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
    """Flat positions in the coordinates that chains move in, where they were asked for."""
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
        self._count, self._program = 1, ""
        self.compiling: list[Future[Any]] = []
        """The next samplers, in the order in which they are needed, where `compile_ahead` compiles them."""
        self.seconds = 0.0
        """How long draws took, compilation excluded."""

    def __call__(
        self,
        points: Any,
        tuning: Tuning,
        policy: P,
        draws: int,
        *,
        internals: bool = False,
        columns: np.ndarray | None = None,
    ) -> tuple[Any, P, Record]:
        """Make this many draws of every chain.

        Args:
            points: where chains are.
            tuning: tuning parameters.
            policy: where the step size comes from.
            draws: draws of each chain.
            internals: whether to keep internal positions and gradients.
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
        internals: bool = False,
        columns: np.ndarray | None = None,
    ) -> Iterator[tuple[Any, P, Record]]:
        """Make this many draws; yield points, policy and draws, with axes (draw, chain), after each chunk."""
        made = 0
        capacity = capacity_of(points.position)
        if draws:
            self._compile(points, tuning, policy)
        while made < draws:
            count = min(self._count, draws - made, capacity)
            started = time.perf_counter()
            points, policy, buffers = self._chunk(points, tuning, policy, count)
            elapsed = time.perf_counter() - started
            rows = _head(buffers, count, internals, columns).without(getattr(tuning.trajectory, "meaningless", ()))
            self._report(rows.info, elapsed)
            made += count
            self.done += count
            self.seconds += time.perf_counter() - started
            self._count = max(1, min(int(count * _CHUNK_SECONDS / elapsed), 10 * count))
            yield points, policy, rows

    def _compile(self, points: Any, tuning: Tuning, policy: Any) -> None:
        """Compile, and draw nothing, where the last chunk was another program's."""
        program = str(jax.tree.map(lambda leaf: jax.typeof(leaf), (points, tuning, policy)))
        if program != self._program:
            wait(self.compiling[:1])
            self.compiling = self.compiling[1:]
            self._chunk(points, tuning, policy, 0)
            self._program = program

    def _chunk(self, points: Any, tuning: Tuning, policy: P, count: int) -> tuple[Any, P, Chunk]:
        made: tuple[Any, P, Chunk] = run_chunk(
            self._key,
            points,
            policy,
            self.done,
            count,
            self.density,
            tuning,
            kernel=self.kernel,
            capacity=capacity_of(points.position),
            placement=self.placement,
        )
        wait_until_ready(made)
        return made


def _head(buffers: Chunk, count: int, internals: bool, columns: np.ndarray | None) -> Record:
    """The first rows of a chunk, on the host."""
    extra = (buffers.internal, buffers.gradient) if internals else (None, None)
    if _is_on_accelerator(buffers.position):
        # Results have axes (chain, draw). The device changes them in no time, and copies no more rows than there are.
        rows = min(len(buffers.position), 4 ** math.ceil(math.log(count, 4)))
        copied = jax.device_get(_chains_first((buffers.position, *extra, buffers.info), columns, rows=rows))
        record = Record(*jax.tree.map(lambda array: array.swapaxes(0, 1)[:count], copied))
        shared: dict[str, Any] = {
            name: np.broadcast_to(getattr(record.info, name), record.info.lp.shape) for name in _SHARED
        }
        return record._replace(info=record.info._replace(**shared))
    position = buffers.position if columns is None else _take(buffers.position, columns)
    wanted = (position, *extra, buffers.info)
    # All copies from the device begin at once, rather than one after the other.
    return Record(*jax.tree.map(lambda buffer: buffer[:count], jax.device_get(wanted)))


def _is_on_accelerator(array: jax.Array) -> bool:
    return next(iter(array.devices())).platform != "cpu"


@partial(jit, static_argnames=("rows",), quick=True)
def _chains_first(wanted: Any, columns: jax.Array | None, *, rows: int) -> Any:
    """Positions, of which some entries are taken, and other arrays with axes (draw, chain): their first rows."""
    position, *others, info = wanted
    position = position[:rows]
    position = position if columns is None else jnp.take(position, columns, axis=-1)
    info = info._replace(**{name: getattr(info, name)[:, :1] for name in _SHARED})
    return jax.tree.map(lambda array: array[:rows].swapaxes(0, 1), (position, *others, info))


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
    """Chunks as one record, with axes (chain, draw): a copy, which can be written to and keeps no chunk in memory."""
    whole: Record = jax.tree.map(lambda array: np.array(array.swapaxes(0, 1), order="C"), concatenated(parts))
    return whole
