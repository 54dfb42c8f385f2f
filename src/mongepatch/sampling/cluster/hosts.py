"""The processes of a program that `jax.distributed` has started on several hosts: what they tell each other.

They exchange a few numbers between chunks of draws, through the key-value store of JAX's coordinator. Every wait ends:
with an answer, or with an error that names the process which does not answer any more.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import jax

from mongepatch.errors import HostLostError, SettingError

_LOG = logging.getLogger("mongepatch")
TIMEOUT = "MONGEPATCH_HOST_TIMEOUT"
"""The environment variable that says after how many seconds without a sign of life a process is lost."""
_DEFAULT_TIMEOUT = 60.0
_PREFIX = "mongepatch"
_LOOK_SECONDS = 0.5
"""How long to wait for an answer before looking whether its sender is alive."""


class Hosts:
    """All processes, of which this is one. The first collects what all say, and tells it to all others.

    A thread of each process gives a sign of life every few seconds, whatever else the process does. The first process
    watches all, and the others watch the first: so the traffic grows in proportion to the number of processes.
    """

    def __init__(self, client: Any, index: int, count: int, timeout: float) -> None:
        self.index, self.count, self.timeout = index, count, timeout
        self._client, self._round = client, 0
        self._lost: str | None = None
        self._runs = 0
        threading.Thread(target=self._watch, name="mongepatch-alive", daemon=True).start()

    @property
    def is_first(self) -> bool:
        """Whether this process speaks for all."""
        return self.index == 0

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """While this context is open, a process that gives no sign of life is lost; else it may have ended."""
        self._runs += 1
        try:
            yield
        finally:
            self._runs -= 1

    def gather(self, content: bytes) -> list[bytes]:
        """What each process says, in their order. All processes must call it, in the same order."""
        self._round += 1
        now = f"{_PREFIX}/{self._round}"
        if not self.is_first:
            self._set(f"{now}/{self.index}", content)
            return _apart(self._get(f"{now}/all"))
        said = [content, *(self._get(f"{now}/{other}") for other in range(1, self.count))]
        self._set(f"{now}/all", _together(said))
        # All have read what was told before, or they would not have answered.
        self._client.key_value_delete(f"{_PREFIX}/{self._round - 1}")
        return said

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.gather(b"")

    def _set(self, key: str, content: bytes) -> None:
        try:
            self._client.key_value_set_bytes(key, content, allow_overwrite=True)
        except jax.errors.JaxRuntimeError as error:
            raise self._error(f"the coordinator cannot be reached ({error})") from error

    def _get(self, key: str) -> bytes:
        while True:
            try:
                return bytes(self._client.blocking_key_value_get_bytes(key, int(1000 * _LOOK_SECONDS)))
            except jax.errors.JaxRuntimeError as error:
                if "DEADLINE_EXCEEDED" not in str(error):
                    raise self._error(f"the coordinator cannot be reached ({error})") from error
            if self._lost is not None:
                raise self._error(self._lost)

    def _error(self, why: str) -> HostLostError:
        return HostLostError(
            f"This is process {self.index} of {self.count}: {why}. The run cannot go on without all processes. Start "
            "all of them again: where it has a store, mp.resume goes on from it, with the same draws."
        )

    def _watch(self) -> None:
        """Give signs of life, and look for those of others."""
        others = range(1, self.count) if self.is_first else range(1)
        seen = {other: (b"", time.monotonic()) for other in others}
        beat = 0
        while self._lost is None:
            beat += 1
            try:
                self._set(f"{_PREFIX}-alive/{self.index}", str(beat).encode())
                for other in others:
                    sign, now = self._sign(f"{_PREFIX}-alive/{other}"), time.monotonic()
                    if sign != seen[other][0] or not self._runs:
                        seen[other] = sign, now
                    elif sign and now - seen[other][1] > self.timeout:  # one that never came is JAX's to miss
                        self._lost = f"process {other} has given no sign of life for {self.timeout:.0f} seconds"
                if self.is_first and self._lost is not None:
                    self._set(f"{_PREFIX}-lost", self._lost.encode())
                else:
                    self._lost = self._lost or self._sign(f"{_PREFIX}-lost").decode() or None
            except HostLostError as error:
                self._lost = str(error)
            time.sleep(min(1.0, self.timeout / 5))
        if self._runs:
            _LOG.error("This is process %d of %d: %s.", self.index, self.count, self._lost)

    def _sign(self, key: str) -> bytes:
        try:
            return bytes(self._client.key_value_try_get_bytes(key))
        except jax.errors.JaxRuntimeError as error:
            if "NOT_FOUND" in str(error):
                return b""
            raise self._error(f"the coordinator cannot be reached ({error})") from error


def hosts_of_program() -> Hosts | None:
    """All processes of this program; None where it is the only one."""
    return _joined() if jax.process_count() > 1 else None


@cache
def _joined() -> Hosts:
    from jax._src import distributed  # the key-value store has no public name

    words = os.environ.get(TIMEOUT, "") or str(_DEFAULT_TIMEOUT)
    try:
        timeout = float(words)
    except ValueError as error:
        raise SettingError(f"{TIMEOUT} must be a number of seconds; it is {words!r}.") from error
    client = distributed.global_state.client
    return Hosts(client, jax.process_index(), jax.process_count(), timeout)


def _together(parts: Sequence[bytes]) -> bytes:
    """Several contents as one: each behind its length."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def _apart(content: bytes) -> list[bytes]:
    """The inverse."""
    parts, place = [], 0
    while place < len(content):
        length = int.from_bytes(content[place : place + 8], "little")
        parts.append(content[place + 8 : place + 8 + length])
        place += 8 + length
    return parts
