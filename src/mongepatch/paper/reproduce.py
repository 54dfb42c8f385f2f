"""Runs items of the paper by name and writes a report."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from mongepatch._extras import require
from mongepatch.errors import SettingError
from mongepatch.paper.item import Item, Size
from mongepatch.paper.report import Part, write
from mongepatch.paper.style import styled
from mongepatch.paper.work import do

ITEMS = ("figure-2", "figure-3", "figure-4", "figure-5", "table-2", "figure-6", "squiggle")
"""In the order of the paper."""


def reproduce(
    names: Sequence[str] = ("all",),
    out: Path = Path("reproduction"),
    *,
    size: Size = "quick",
    jobs: int = 1,
    fresh: bool = False,
) -> list[Part]:
    """Run experiments of the paper, and write a report of them.

    Args:
        names: some of `ITEMS`, or "all".
        out: the folder to write to: `report.html`, which holds all that it shows, figures as SVG and PNG, numbers as
            CSV and JSON.
        size: "quick" for minutes, "full" for the paper's own numbers of draws.
        jobs: number of processes that run at a time.
        fresh: whether to compute again what is stored for the same settings.

    Returns:
        The parts of the report, with all numbers.

    Example:
        >>> reproduce(["figure-4"], Path("reproduction"))

    Raises:
        SettingError: there is no such item, or the folder cannot be written to.
        MissingExtraError: the extra `paper` is not installed.
    """
    for module in ("matplotlib", "rich", "arviz_stats", "blackjax"):
        require(module, "paper", "Reproducing the paper")
    items = [item_named(name) for name in wanted(names)]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"The report cannot be written to {out}: {error.strerror}.") from error
    if not os.access(out, os.W_OK):  # said now, not after an hour of work
        raise SettingError(f"The report cannot be written to {out}: the folder is not writable.")
    done = do(items, size, jobs, fresh)
    with styled():
        parts = [
            Part(
                item,
                item.present(done[item.name].results) if done[item.name].results else None,
                done[item.name],
                item.tasks(size),
            )
            for item in items
        ]
        write(out, parts, size, jobs)
    return parts


def wanted(names: Sequence[str]) -> list[str]:
    """Names of items, each once and in the order of the paper."""
    unknown = [name for name in names if name not in (*ITEMS, "all")]
    if unknown:
        raise SettingError(f"There is no item {', '.join(unknown)}: there are {', '.join(ITEMS)}, and all of them.")
    return [name for name in ITEMS if name in names or "all" in names or not names]


def item_named(name: str) -> Item:
    """The item of a module of the same name."""
    item: Item = import_module(f"mongepatch.paper.{name.replace('-', '_')}").ITEM
    return item
