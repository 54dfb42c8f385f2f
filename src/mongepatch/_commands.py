"""What a message says to do next with a store: a call in Python or, at the command line, a command."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_IS_COMMAND_LINE = [False]
"""Whose words are spoken: those of the whole process, since stores are written by threads."""


@contextmanager
def at_command_line() -> Iterator[None]:
    """Messages name commands from here on."""
    before, _IS_COMMAND_LINE[0] = _IS_COMMAND_LINE[0], True
    try:
        yield
    finally:
        _IS_COMMAND_LINE[0] = before


def to_resume(store: Any, draws: int | None = None) -> str:
    """How a run in a store is ended, perhaps with fewer draws than were asked for."""
    if _IS_COMMAND_LINE[0]:
        return f"mongepatch resume {shlex.quote(str(store))}" + ("" if draws is None else f" --draws {draws}")
    return f'mp.resume("{store}", target' + (")" if draws is None else f", draws={draws})")


def to_extend(store: Any, draws: int | None = None) -> str:
    """How draws are added to a run in a store."""
    if _IS_COMMAND_LINE[0]:
        return f"mongepatch extend {shlex.quote(str(store))} --draws {'N' if draws is None else draws}"
    return f'mp.extend("{store}", target, draws={"…" if draws is None else draws})'


def to_read(store: Any) -> str:
    """How one looks at the draws of a store."""
    return f"mongepatch summary {shlex.quote(str(store))}" if _IS_COMMAND_LINE[0] else f'mp.open_store("{store}")'
