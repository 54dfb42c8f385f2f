"""The parts of a report, and the facts of its run: settings, versions, machine."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from mongepatch._version import __version__
from mongepatch.paper.item import Item, Section, Size, Table, Task
from mongepatch.paper.report.values import plain
from mongepatch.paper.work import Done, processors

PACKAGES = ("jax", "numpy", "blackjax", "matplotlib", "walnutpie")
PAPER = {
    "title": "Lagrangian Manifold Monte Carlo on Monge Patches",
    "authors": ["Marcelo Hartmann", "Mark Girolami", "Arto Klami"],
    "published": "AISTATS 2022",
}


class Part(NamedTuple):
    """An item with its results."""

    item: Item
    section: Section | None
    """None where there are no results."""
    done: Done
    tasks: Sequence[Task]


class RunFacts(NamedTuple):
    """One run of some items."""

    size: Size
    jobs: int
    when: str
    command: str
    versions: dict[str, str]
    machine: str
    processors: int


def run_facts(parts: Sequence[Part], size: Size, jobs: int) -> RunFacts:
    """The facts of the current run."""
    versions = {"mongepatch": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    names = " ".join(part.item.name for part in parts)
    return RunFacts(
        size,
        jobs,
        now(),
        f"mongepatch reproduce {names} --{size} --jobs {jobs}",
        versions,
        platform.platform(),
        processors(),
    )


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(part: Part, task: Task) -> float | None:
    """Seconds that a task took, where it is done."""
    seconds = part.done.results.get(task.label, {}).get("task_seconds")
    return None if seconds is None else float(seconds)


def results(parts: Sequence[Part], run: RunFacts) -> dict[str, Any]:
    """The content of the page as JSON values."""
    return {"paper": PAPER, "run": run._asdict(), "items": [_item(part) for part in parts]}


def _item(part: Part) -> dict[str, Any]:
    section = part.section or Section()
    return {
        "name": part.item.name,
        "title": part.item.title,
        "about": part.item.about,
        "claims": [claim._asdict() for claim in section.claims],
        "figures": [
            {"name": figure.name, "caption": figure.caption, "alternative": figure.alternative}
            for figure in section.figures
        ],
        "tables": [_table(table) for table in section.tables],
        "tasks": [
            {"label": task.label, "settings": plain(task.settings), "seconds": plain(seconds_of(part, task))}
            for task in part.tasks
        ],
        "left_out": part.done.left_out,
        "failed": part.done.failed,
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "note": table.note,
        "columns": [{"name": column.name, "meaning": column.meaning} for column in table.columns],
        "rows": plain(table.rows),
    }
