"""Warm-up that can be repeated: every call for draws is stored with its result.

What warm-up decides between these calls follows from their results. So a process that goes on repeats the decisions,
with results from the store for as long as there are some, and goes on from the last of them. Times are stored as well,
since some decisions look at them.
"""

import time
import warnings
from typing import Any, TypeVar

import numpy as np

from mongepatch._commands import to_resume
from mongepatch.chains import Placement, Record, Report, Runner, StepSizePolicy, Tuning, concatenated, joined
from mongepatch.errors import OtherRunError, SamplingInterrupted, SamplingWarning
from mongepatch.kernels import Info
from mongepatch.sampling.interrupts import Interrupts
from mongepatch.sampling.snapshot import arrays_of, reading_a_run, tree_of_arrays
from mongepatch.store import Container, RunStore
from mongepatch.store.container import digest

P = TypeVar("P", bound=StepSizePolicy)


class JournaledRunner(Runner):
    """A runner whose calls are stored, and taken from the store where they are there."""

    def __init__(
        self,
        run: tuple[Any, Any, Any],
        report: Report,
        placement: Placement,
        store: RunStore,
        seconds: float,
        interrupts: Interrupts,
    ) -> None:
        super().__init__(*run, report, placement)
        self._store, self._interval, self._interrupts = store, seconds, interrupts
        self._call = 0
        self._stored: dict[int, list[Container]] = {}
        for entry in () if store.has_draws else store.read_entries():
            self._stored.setdefault(int(entry.facts["call"]), []).append(entry)

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
        """Make draws, or take them from the store."""
        number, self._call = self._call, self._call + 1
        parts: list[Record] = []
        made = 0
        begun_with = _digest_of(points, policy)
        for entry in self._stored.pop(number, []):
            before = self.seconds
            with reading_a_run():
                self._check(entry, draws, begun_with)
                parts.append(record_of_arrays(entry.arrays))
                points = tree_of_arrays("points", entry.arrays, points)
                policy = tree_of_arrays("policy", entry.arrays, policy)
                self.seconds, self.done = float(entry.facts["seconds"]), int(entry.facts["done"])
            made += len(parts[-1].position)
            self._report(parts[-1].info, self.seconds - before)
        written, pending = time.monotonic(), []
        facts = {"call": number, "draws": draws, "begun_with": begun_with}
        chunks = self.chunks(points, tuning, policy, draws - made, internals=internals, columns=columns)
        for points, policy, rows in chunks:
            parts.append(rows)
            pending.append(rows)
            made += len(rows.position)
            is_due = time.monotonic() - written > self._interval
            if is_due or made == draws or self._interrupts.requested:
                arrays = (
                    arrays_of_record(concatenated(pending)) | arrays_of("points", points) | arrays_of("policy", policy)
                )
                self._store.add_entry(arrays, facts | {"seconds": self.seconds, "done": self.done})
                written, pending = time.monotonic(), []
            if self._interrupts.requested:
                self._stop()
        return points, policy, joined(parts)

    def _stop(self) -> None:
        self._store.close()
        self._interrupts.deliver()
        where = self._store.files.words
        raise SamplingInterrupted(
            f"The run was interrupted in warm-up, after {self.done:,} draws, which are stored. {to_resume(where)} goes "
            "on from there."
        )

    def _check(self, entry: Container, draws: int, begun_with: str) -> None:
        if entry.facts["draws"] != draws:
            raise OtherRunError(
                f"Warm-up in {self._store.files.words} cannot be repeated: it asks for {draws} draws, and asked for "
                f"{entry.facts['draws']} then. The settings are others, or rounding has changed a decision."
            )
        if entry.facts["begun_with"] != begun_with:
            warnings.warn(
                "Warm-up rounds otherwise than when it was begun, on another machine or with another version. It goes "
                "on, and its draws are valid, but they are not bit for bit those of a run without a break.",
                SamplingWarning,
                stacklevel=2,
            )


def _digest_of(points: Any, policy: Any) -> str:
    arrays = arrays_of("points", points) | arrays_of("policy", policy)
    return digest(b"".join(values.tobytes() for values in arrays.values()))


def arrays_of_record(record: Record) -> dict[str, np.ndarray]:
    """Draws by name."""
    plain = {f"row.{name}": getattr(record, name) for name in ("position", "internal", "gradient")}
    info = {f"info.{name}": value for name, value in record.info._asdict().items() if name != "extra"}
    extra = {f"extra.{name}": value for name, value in record.info.extra.items()}
    return {name: value for name, value in (plain | info | extra).items() if value is not None}


def record_of_arrays(arrays: dict[str, np.ndarray]) -> Record:
    """The inverse of `arrays_of_record`."""
    extra: Any = {name.partition(".")[2]: value for name, value in arrays.items() if name.startswith("extra.")}
    named: dict[str, Any] = {name: arrays[f"info.{name}"] for name in Info._fields if name != "extra"}
    info = Info(**named, extra=extra)
    return Record(arrays["row.position"], arrays.get("row.internal"), arrays.get("row.gradient"), info)
