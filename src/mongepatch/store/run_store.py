"""A run in a store: how it began, what its warm-up did, its draws, and a checkpoint after each part of them.

Files are written in an order that lets a process be killed at any instant. What a checkpoint refers to is there before
it; what comes after the last checkpoint is written again.
"""

import contextlib
import json
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch._commands import to_extend, to_resume
from mongepatch.errors import DamagedStoreError, OtherRunError, StoreError
from mongepatch.store.checkpoints import Checkpoints
from mongepatch.store.container import Container, digest, pack, unpack
from mongepatch.store.draws import START, DrawArrays
from mongepatch.store.files import Files
from mongepatch.store.layout import METADATA, Layout, create_layout
from mongepatch.store.lock import locked

if TYPE_CHECKING:
    from xarray import DataTree

_FOLDER = "_mongepatch/"
RUN, TUNED, LAYOUT = "_mongepatch/run", "_mongepatch/tuned", "_mongepatch/layout"
_ENTRIES, _ENTRY = "_mongepatch/warmup/", "_mongepatch/warmup/{:06d}"
Arrays = Mapping[str, np.ndarray]
Facts = Mapping[str, Any]


class RunStore:
    """The files of one run. `create` begins one, and `reopen` finds out how far one is."""

    def __init__(self, files: Files, run: Container) -> None:
        self.files, self.run = files, run
        self.tuned: Container | None = None
        """What warm-up found, once there are draws."""
        self.state: Container | None = None
        """Arrays and facts of the last checkpoint."""
        self.entries = 0
        """Parts of the warm-up that are stored."""
        self._entries_sum = START
        self._references = {RUN: digest(pack(*run))}
        self._attributes: dict[str, dict[str, Any]] = {}
        self._draws: DrawArrays | None = None
        self._layout: Layout | None = None
        self._checkpoints = Checkpoints(files)
        self._worker = ThreadPoolExecutor(1)
        self._pending: Future[None] | None = None
        self._resources = contextlib.ExitStack()

    @classmethod
    def create(cls, files: Files, arrays: Arrays, facts: Facts) -> "RunStore":
        """Begin a run; raise where the location holds one already."""
        resources = contextlib.ExitStack()
        with resources:
            resources.enter_context(locked(files))
            check_free(files)
            store = cls(files, Container(dict(arrays), dict(facts)))
            store._checkpoint({}, {})
            files.write(RUN, pack(arrays, facts))  # with it, there is a run
            store._resources = resources.pop_all()
        return store

    @classmethod
    def reopen(cls, files: Files, *, write: bool) -> "RunStore":
        """A run that was begun; raise where a file of it is not what was written.

        Args:
            files: where it is.
            write: whether it goes on; then no other process may write to it.
        """
        if files.read(RUN) is None:
            if _is_free(files):
                raise StoreError(f"{files.words} holds no run.")
            raise DamagedStoreError(f"{files.words}/{RUN} is missing: without it the run cannot go on.")
        resources = contextlib.ExitStack()
        with resources:
            if write:
                resources.enter_context(locked(files))
            store = cls(files, _read(files, RUN))
            store._restore()
            store._resources = resources.pop_all()
        return store

    @property
    def has_draws(self) -> bool:
        """Whether warm-up is over and there are draws."""
        return self._draws is not None

    @property
    def draws(self) -> int:
        """Draws of each chain in the store."""
        return 0 if self._draws is None else self._draws.draws

    @property
    def chunk_draws(self) -> int | None:
        """Draws of a chunk of the arrays, once there are some."""
        return None if self._draws is None else self._draws.chunk_draws

    def add_entry(self, arrays: Arrays, facts: Facts) -> None:
        """Store a part of the warm-up, and a checkpoint that it is there."""
        content = pack(arrays, facts)

        def write() -> None:
            self.files.write(_ENTRY.format(self.entries), content)
            self._entries_sum = digest((self._entries_sum + digest(content)).encode())
            self.entries += 1
            self._checkpoint({}, {})

        self._submit(write)

    def read_entries(self) -> list[Container]:
        """All parts of the warm-up; raise where one is not what was written."""
        contents = {}
        found = START
        for number in range(self.entries):
            name = _ENTRY.format(number)
            contents[name] = _content(self.files, name)
            found = digest((found + digest(contents[name])).encode())
        if found != self._entries_sum:
            raise DamagedStoreError(
                f"The files of warm-up in {self.files.words} are not those of its checkpoint: one is damaged."
            )
        return [unpack(content, f"{self.files.words}/{name}") for name, content in contents.items()]

    def begin_draws(
        self, tuned: Container, tree: "DataTree", growing: Collection[str], chunk_draws: int | None = None
    ) -> None:
        """Store what warm-up found, and make room for draws of the names and shapes of a tree."""
        self.wait()
        layout = create_layout(self.files, tree, growing, chunk_draws)
        self.tuned = tuned
        self._layout, self._draws = layout, DrawArrays(self.files, layout)
        contents = {TUNED: pack(*tuned), LAYOUT: pack({}, layout._asdict())}
        self.files.write_all(contents)
        self._references |= {name: digest(content) for name, content in contents.items()}

    def append(self, values: Arrays, state: Arrays, facts: Facts) -> None:
        """Store draws, [chain, draw, ...] by the path of their array, and a checkpoint; while the caller goes on."""
        draws = self._draws
        assert draws is not None  # begin_draws comes first

        def write() -> None:
            if values:
                draws.append(values)
            self._checkpoint(state, facts)
            draws.publish()
            if self.entries:  # the checkpoint before this one may still need them
                self._drop_entries()

        self._submit(write)

    def finish(self, attributes: Mapping[str, Mapping[str, Any]], state: Arrays, facts: Facts) -> None:
        """Write attributes of groups and the last checkpoint, for all readers to see."""
        self.wait()
        if self._draws is not None and self._layout is not None:
            self._set_attributes({group: dict(values) for group, values in attributes.items()})
            self._checkpoint(state, facts)
            self._draws.finish()

    def wait(self) -> None:
        """Wait until everything is written; raise what went wrong."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def close(self) -> None:
        """Let go of the store."""
        try:
            self.wait()
        finally:
            self._worker.shutdown()
            self._resources.close()

    def metadata(self) -> dict[str, bytes]:
        """Zarr's descriptions of all groups and arrays, by the names of their files, with the draws so far."""
        assert self._layout is not None  # there are draws
        inner = {
            f"{path}/{METADATA}": self._layout.metadata(path, self.draws) for path in self._layout.documents if path
        }
        return inner | {METADATA: self._layout.root(self.draws)}

    def _submit(self, work: Callable[[], None]) -> None:
        self.wait()
        self._pending = self._worker.submit(work)

    def _checkpoint(self, state: Arrays, facts: Facts) -> None:
        own = {
            "references": self._references,
            "attributes": self._attributes,
            "entries": self.entries,
            "entries_sum": self._entries_sum,
        }
        if self._draws is not None:
            own |= {"draws": self._draws.facts}
        self._checkpoints.write(state, {"own": own, "run": facts})
        self.state = Container(dict(state), dict(facts))

    def _drop_entries(self) -> None:
        if self._checkpoints.both_have_draws:
            for name in self.files.names(_ENTRIES):
                self.files.delete(name)
            self.entries, self._entries_sum = 0, START

    def _set_attributes(self, attributes: Mapping[str, dict[str, Any]]) -> None:
        self._attributes = json.loads(json.dumps(attributes))
        for group, values in self._attributes.items():
            if self._layout is not None and group in self._layout.documents:
                self._layout.documents[group].setdefault("attributes", {}).update(values)

    def _restore(self) -> None:
        checkpoint = self._checkpoints.newest()
        if checkpoint is None:
            raise DamagedStoreError(f"{self.files.words} has no checkpoint: its files are missing.")
        try:
            own, facts = checkpoint.facts["own"], dict(checkpoint.facts["run"])
            references, attributes = dict(own["references"]), dict(own["attributes"])
            self.entries, self._entries_sum = int(own["entries"]), str(own["entries_sum"])
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedStoreError(f"The checkpoint of {self.files.words} is not one of a run.") from error
        self.state = Container(checkpoint.arrays, facts)
        if references.get(RUN) != self._references[RUN]:
            raise OtherRunError(f"{self.files.words}/{RUN} belongs to another run than the checkpoint beside it.")
        if "draws" not in own:
            return
        contents = {name: _content(self.files, name, references.get(name)) for name in (TUNED, LAYOUT)}
        self._references = references
        self.tuned = unpack(contents[TUNED], TUNED)
        self._layout = Layout(**unpack(contents[LAYOUT], LAYOUT).facts)
        self._set_attributes(attributes)
        for name, expected in self._layout.static.items():
            _content(self.files, name, expected)
        self._draws = DrawArrays(self.files, self._layout)
        self._draws.restore(own["draws"])


def check_free(files: Files) -> None:
    """Raise where a location holds a run already."""
    if not _is_free(files):
        raise StoreError(
            f"{files.words} holds a run already, which is not overwritten. {to_resume(files.words)} ends one that was "
            f"interrupted, {to_extend(files.words)} adds draws; or give another name."
        )


def _is_free(files: Files) -> bool:
    """Whether a run may begin here: there is nothing, or one that was killed before it had begun."""
    mine = {f"{_FOLDER}lock", f"{_FOLDER}checkpoint-0"}
    return files.read(METADATA) is None and set(files.names(_FOLDER)) <= mine


def _read(files: Files, name: str) -> Container:
    return unpack(_content(files, name), f"{files.words}/{name}")


def _content(files: Files, name: str, expected: str | None = None) -> bytes:
    """The content of a file that must be there, with a checksum where one is known."""
    content = files.read(name)
    if content is None or (expected is not None and digest(content) != expected):
        raise DamagedStoreError(f"{files.words}/{name} is missing or is not what was written.")
    return content
