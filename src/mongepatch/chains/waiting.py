"""Waiting for a chunk such that a signal is answered at once: Python answers none while it waits inside JAX."""

import atexit
import os
import sys
import time
from typing import Any

import jax

_LEAST_NAP, _NAP_FRACTION = 20e-6, 0.002
"""How long to sleep between two looks: so many seconds, or so much of the time that has passed."""
_left: list[Any] = []
"""What somebody waited for and then left. XLA cannot stop it."""


def wait_until_ready(tree: Any) -> None:
    """Wait for all arrays of a pytree. An exception of a signal's handler ends the wait."""
    begun = time.perf_counter()
    leaves: list[Any] = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
    try:
        while not _are_ready(leaves):
            time.sleep(max(_LEAST_NAP, _NAP_FRACTION * (time.perf_counter() - begun)))
    except BaseException:
        _left.extend(leaves)
        raise
    jax.block_until_ready(leaves)  # raises what went wrong


def _are_ready(leaves: list[Any]) -> bool:
    return all(leaf.is_ready() for leaf in leaves)


@atexit.register
def _leave_at_once() -> None:
    """End a process that Ctrl-C ended: JAX, which leaves after this, would wait for what still runs."""
    if getattr(sys, "last_type", None) is KeyboardInterrupt and not _are_ready(_left):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
