"""One process writes to a store at a time. A process that died holds no lock."""

import contextlib
import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from mongepatch.errors import LockedStoreError
from mongepatch.store.files import Files, Folder

LOCK = "_mongepatch/lock"
LEASE_SECONDS = 90.0
"""How long a process that died keeps others out of a location that has no locks of its own."""
_RENEWALS = 4


@contextlib.contextmanager
def locked(files: Files) -> Iterator[None]:
    """Hold the store, or raise where another process does."""
    with _locked_folder(files.path, files.words) if isinstance(files, Folder) else _leased(files):
        yield


@contextlib.contextmanager
def _locked_folder(path: Path, words: str) -> Iterator[None]:
    """By the system's lock of an open file, which ends with its process, however that ends."""
    lock = path / LOCK
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "a+b") as file:
        if not _try_lock(file):
            raise LockedStoreError(
                f"{words} is in use: another run writes to it, and two would mix their draws. Wait for it to end, or "
                "give another store."
            )
        yield


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # of another system
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _leased(files: Files) -> Iterator[None]:
    """By a file that says until when the store is held, and is renewed by a thread while the process lives."""
    owner = uuid.uuid4().hex
    held = _lease(files)
    if held is not None and held[1] > time.time():
        raise LockedStoreError(
            f"{files.words} is in use: another run writes to it, or died less than {LEASE_SECONDS:.0f} seconds ago. "
            "Wait for that long, or give another store."
        )
    _renew(files, owner)
    holder = _lease(files)
    if holder is None or holder[0] != owner:
        raise LockedStoreError(f"{files.words} is in use: another run began to write to it at the same time.")
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(LEASE_SECONDS / _RENEWALS):
            with contextlib.suppress(Exception):  # a later renewal may work
                _renew(files, owner)

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        files.delete(LOCK)


def _lease(files: Files) -> tuple[str, float] | None:
    """Who holds the store, and until when; None for nobody, and where the file says nothing of the kind."""
    content = files.read(LOCK)
    try:
        found = json.loads(content or b"null")
        return str(found["owner"]), float(found["until"])
    except (ValueError, TypeError, KeyError):
        return None


def _renew(files: Files, owner: str) -> None:
    files.write(LOCK, json.dumps({"owner": owner, "until": time.time() + LEASE_SECONDS}).encode())
