"""Waiting for a chunk such that a signal is answered at once: Python answers none while it waits inside JAX.

So another thread waits inside JAX, and the main thread waits for that one. To look at arrays again and again, with naps
between, would take a fifth of the time from a sampler that has one core.
"""

import atexit
import os
import sys
from contextlib import suppress
from threading import Event, Thread, current_thread, main_thread
from typing import Any

import jax

_LOOK_SECONDS = 0.1
"""How long to wait at a time: on some systems a signal is answered only then."""
_left: list[Thread] = []
"""Threads that wait for what somebody left. XLA cannot stop it."""


def wait_until_ready(tree: Any) -> None:
    """Wait for all arrays of a pytree. An exception of a signal's handler ends the wait."""
    leaves: list[Any] = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
    if current_thread() is main_thread() and not all(leaf.is_ready() for leaf in leaves):  # signals are for this thread
        _wait_in_thread(leaves)
    jax.block_until_ready(leaves)  # raises what went wrong


def _wait_in_thread(leaves: list[Any]) -> None:
    are_ready = Event()

    def wait() -> None:
        try:
            with suppress(Exception):  # which the main thread raises
                jax.block_until_ready(leaves)
        finally:
            are_ready.set()

    # A daemon: Python would wait for others before it calls `_end_waits`.
    thread = Thread(target=wait, name="mongepatch-waiter", daemon=True)
    try:
        thread.start()  # which waits itself until the thread runs
        while not are_ready.wait(_LOOK_SECONDS):
            pass
    except BaseException as error:
        if isinstance(error, RuntimeError) and thread.ident is None:
            return  # the system has no thread to give: the caller waits inside JAX
        _left[:] = [*(other for other in _left if other.is_alive()), thread]
        raise


@atexit.register
def _end_waits() -> None:
    """At the end of the process, wait for what was left, or end at once where Ctrl-C says so, before or meanwhile."""
    waiting = [thread for thread in _left if thread.is_alive()]
    if waiting and getattr(sys, "last_type", None) is KeyboardInterrupt:
        _exit_at_once()
    try:
        for thread in waiting:  # one that comes back from JAX when Python is gone would crash
            thread.join()
    except KeyboardInterrupt:
        _exit_at_once()


def _exit_at_once() -> None:
    """End the process as Ctrl-C does. JAX, which leaves after all else, would wait for what still runs."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130)
