"""Draws that are appended to a store's arrays, chunk by chunk, with a checksum of each chunk."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from mongepatch._extras import require
from mongepatch.errors import DamagedStoreError
from mongepatch.store.container import digest, pack, unpack
from mongepatch.store.files import Files
from mongepatch.store.layout import METADATA, GrowingArray, Layout

_SUMS = "_mongepatch/sums/{:08d}"
START = digest(b"")
"""The checksum of no chunk."""


class DrawArrays:
    """The growing arrays of a store.

    A chunk that is full is written once. The last one is written again whenever draws are added to it; its first draws
    stay what they were, so that a checkpoint of fewer draws stays true.
    """

    def __init__(self, files: Files, layout: Layout) -> None:
        self._files, self._layout = files, layout
        self._arrays = layout.growing
        self.chunk_draws = self._arrays[0].rows
        self._buffers = {array.path: np.zeros(array.chunk, array.dtype) for array in self._arrays}
        self._zstd = require("numcodecs.zstd", "store", "A store").Zstd(level=1, checksum=True)
        self.draws = 0
        """Draws of each chain so far."""
        self._chain = START
        self._last: dict[str, str] = {}

    @property
    def facts(self) -> dict[str, Any]:
        """What a checkpoint must say of the draws: how many, and their checksums."""
        return {"draws": self.draws, "sums": self._chain, "last": self._last}

    def append(self, values: Mapping[str, np.ndarray]) -> None:
        """Write draws, [chain, draw, ...] by the path of their array; the coordinate `draw` is added."""
        count = next(iter(values.values())).shape[1]
        done = 0
        while done < count:
            first = self.draws % self.chunk_draws
            some = min(count - done, self.chunk_draws - first)
            for array in self._arrays:
                part = self._labels(some) if array.axis == 0 else values[array.path][:, done : done + some]
                buffer = self._buffers[array.path]
                buffer[(slice(None),) * array.axis + (slice(first, first + some),)] = part
            done += some
            self.draws += some
            if self.draws % self.chunk_draws == 0:
                self._end_chunk()
        self._write_last()

    def publish(self) -> None:
        """Let readers see all draws so far."""
        self._files.write(METADATA, self._layout.root(self.draws))

    def finish(self) -> None:
        """The same for readers that look at single groups and arrays."""
        paths = [path for path in self._layout.documents if path]
        self._files.write_all({f"{path}/{METADATA}": self._layout.metadata(path, self.draws) for path in paths})
        self.publish()

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Go back to the draws of a checkpoint; raise where one of them is not what was written."""
        try:
            draws, chain, last = int(facts["draws"]), str(facts["sums"]), dict(facts["last"])
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedStoreError(f"The checkpoint of {self._files.words} says nothing of draws.") from error
        full, rest = divmod(draws, self.chunk_draws)
        self._chain = START
        for number in range(full):
            self._check_chunk(number)
        if self._chain != chain:
            raise DamagedStoreError(f"The checksums of {self._files.words} are not those of its checkpoint.")
        self.draws, self._last = draws, last
        for array in self._arrays if rest else ():
            values = self._read(array, full)
            if digest(_bytes(array.head(values, rest))) != last.get(array.path):
                raise _damaged(self._files, array.key(full))
            self._buffers[array.path][...] = values

    def _labels(self, count: int) -> np.ndarray:
        return np.arange(self.draws, self.draws + count)

    def _end_chunk(self) -> None:
        number = self.draws // self.chunk_draws - 1
        contents = {array: self._zstd.encode(_little(self._buffers[array.path])) for array in self._arrays}
        self._files.write_all({array.key(number): content for array, content in contents.items()})
        sums = {array.path: digest(content) for array, content in contents.items()}
        self._files.write(_SUMS.format(number), pack({}, {"sums": sums, "chunk": number}))
        self._chain, self._last = _chained(self._chain, sums), {}

    def _write_last(self) -> None:
        number, rest = divmod(self.draws, self.chunk_draws)
        if rest:
            buffers = {array: self._buffers[array.path] for array in self._arrays}
            contents = {array.key(number): self._zstd.encode(_little(buffer)) for array, buffer in buffers.items()}
            self._files.write_all(contents)
            self._last = {array.path: digest(_bytes(array.head(buffer, rest))) for array, buffer in buffers.items()}

    def _check_chunk(self, number: int) -> None:
        name = _SUMS.format(number)
        content = self._files.read(name)
        if content is None:
            raise _damaged(self._files, name)
        sums = unpack(content, f"{self._files.words}/{name}").facts.get("sums")
        if not isinstance(sums, dict):
            raise _damaged(self._files, name)
        for array in self._arrays:
            chunk = self._files.read(array.key(number))
            if chunk is None or digest(chunk) != sums.get(array.path):
                raise _damaged(self._files, array.key(number))
        self._chain = _chained(self._chain, sums)

    def _read(self, array: GrowingArray, number: int) -> np.ndarray:
        content = self._files.read(array.key(number))
        try:
            decoded = self._zstd.decode(content)
            return np.frombuffer(decoded, array.dtype.newbyteorder("<")).reshape(array.chunk).astype(array.dtype)
        except (ValueError, TypeError, RuntimeError, MemoryError, OverflowError) as error:
            raise _damaged(self._files, array.key(number)) from error


def _chained(before: str, sums: Mapping[str, str]) -> str:
    """The checksum of all chunks so far, from that of those before."""
    return digest(json.dumps([before, sums], sort_keys=True).encode())


def _little(values: np.ndarray) -> np.ndarray:
    """In the order of bytes that zarr's description names."""
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def _bytes(values: np.ndarray) -> bytes:
    return _little(values).tobytes()


def _damaged(files: Files, name: str) -> DamagedStoreError:
    return DamagedStoreError(
        f"{files.words}/{name} is missing or is not what was written. Its draws cannot be trusted; those of other "
        "chunks are as they were."
    )
