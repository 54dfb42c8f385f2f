"""Where a store lies: a folder, or any location that zarr can write to. Every file is written whole or not at all."""

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from mongepatch._commands import to_resume
from mongepatch._extras import require
from mongepatch.errors import SettingError, StoreError

_WRITERS = 8
"""Files that are written at the same time."""


class Files(Protocol):
    """Files by name, with "/" between the parts of a name."""

    @property
    def words(self) -> str:
        """The location, for a person to read and to give again."""

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, or leave it as it was."""

    def write_all(self, contents: Mapping[str, bytes]) -> None:
        """Write several files at the same time."""

    def delete(self, name: str) -> None:
        """Delete a file, where there is one."""

    def names(self, under: str) -> list[str]:
        """The names of all files in a folder."""

    def zarr_store(self) -> Any:
        """The same as zarr and xarray take it."""


def files_at(location: Any) -> Files:
    """The files of a location: a path, a URL for fsspec or obstore, or a store of zarr."""
    zarr = require("zarr", "store", "A store")
    if isinstance(location, zarr.abc.store.Store):
        return ZarrFiles(location, repr(location))
    if isinstance(location, str) and "://" in location:
        return ZarrFiles(_remote_store(location), location)
    if isinstance(location, str | os.PathLike) and os.fspath(location):
        return Folder(Path(os.fspath(location)))
    raise SettingError(
        'store must be a path such as "run.zarr", a URL such as "s3://bucket/run.zarr", or a store of zarr; it is '
        f"{location!r}."
    )


def discard(files: Files) -> None:
    """Delete all files of a location."""
    if isinstance(files, Folder):
        shutil.rmtree(files.path, ignore_errors=True)
        return
    for name in files.names(""):
        files.delete(name)


def _remote_store(url: str) -> Any:
    """The store of a URL: by fsspec where it is installed, else by obstore."""
    storage = require("zarr.storage", "store", "A store")
    try:
        require("fsspec", "store", "A store at a URL")
        return storage.FsspecStore.from_url(url)
    except ImportError:
        from_url = require("obstore.store", "store", "A store at a URL (by fsspec or obstore)").from_url
        return storage.ObjectStore(from_url(url))
    except (ValueError, OSError) as error:
        raise StoreError(f"{url} cannot be opened: {error}") from error


class Folder:
    """A folder of this machine. What was written before a power cut is there after it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.words = os.fspath(path)

    def read(self, name: str) -> bytes | None:
        """The content of a file."""
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write beside the file, force it to the disk, and put it into the file's place."""
        path = self.path / name
        temporary = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
            with open(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            _sync_folder(path.parent)
        except OSError as error:
            raise _not_written(self.words, error) from error
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def write_all(self, contents: Mapping[str, bytes]) -> None:
        """Write several files at the same time: each waits for the disk."""
        with ThreadPoolExecutor(_WRITERS) as pool:
            list(pool.map(self.write, contents, contents.values()))

    def delete(self, name: str) -> None:
        """Delete a file."""
        with contextlib.suppress(OSError):
            (self.path / name).unlink()

    def names(self, under: str) -> list[str]:
        """The names of all files in a folder, without those that a dead process left half written."""
        return sorted(self._names(under))

    def _names(self, under: str) -> Iterator[str]:
        for folder, _, files in os.walk(self.path / under):
            for file in files:
                if not file.endswith(".part"):
                    yield (Path(folder) / file).relative_to(self.path).as_posix()

    def zarr_store(self) -> Any:
        """Zarr's store of the folder."""
        return require("zarr.storage", "store", "A store").LocalStore(self.path)


class ZarrFiles:
    """Any store of zarr: memory, or a location of fsspec or obstore."""

    def __init__(self, store: Any, words: str) -> None:
        self._store, self.words = store, words
        self._sync = require("zarr.core.sync", "store", "A store").sync
        self._buffers = require("zarr.core.buffer", "store", "A store")

    def read(self, name: str) -> bytes | None:
        """The content of a file."""
        found = self._run(self._store.get(name, self._buffers.default_buffer_prototype()))
        return None if found is None else bytes(found.to_bytes())

    def write(self, name: str, content: bytes) -> None:
        """Write a file, as atomically as the location does it."""
        self._run(self._store.set(name, self._buffers.default_buffer_prototype().buffer.from_bytes(content)))

    def write_all(self, contents: Mapping[str, bytes]) -> None:
        """Write several files at the same time: a location may be far away."""
        with ThreadPoolExecutor(_WRITERS) as pool:
            list(pool.map(self.write, contents, contents.values()))

    def delete(self, name: str) -> None:
        """Delete a file."""
        self._run(self._store.delete(name))

    def names(self, under: str) -> list[str]:
        """The names of all files in a folder."""

        async def listed() -> list[str]:
            return [name async for name in self._store.list_prefix(under)]

        return sorted(self._run(listed()))

    def zarr_store(self) -> Any:
        """The store itself."""
        return self._store

    def _run(self, work: Any) -> Any:
        try:
            return self._sync(work)
        except (FileNotFoundError, KeyError):
            return None
        except OSError as error:
            raise _not_written(self.words, error) from error


def _not_written(where: str, error: OSError) -> StoreError:
    why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error)
    return StoreError(
        f"{where} cannot be written: {why}. All draws up to the last checkpoint are in the store: once it can be "
        f"written again, {to_resume(where)} goes on."
    )


def _sync_folder(path: Path) -> None:
    """Force the names of files to the disk, where the system lets folders be opened."""
    if os.name == "posix":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
