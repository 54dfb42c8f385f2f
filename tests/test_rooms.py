"""Rooms of the package import only what the table in docs/design.md lets them."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "mongepatch"
ENTRIES = {"__init__", "__main__"}
"""What users import or run: it may know all rooms."""


def table():
    """The rooms that each room may import, from the rows | `room` | holds | `other` `other` | of the page on design."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    section = page[page.index("## Rooms") : page.index("## Decisions")]
    rows = re.findall(r"^\| `(\w+)` \| .* \|(.*)\|$", section, flags=re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)`", imports)) for room, imports in rows}


def imports_of(path):
    """Modules of the package that a file imports, at its top or inside its functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "mongepatch":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import, which this test would not see"
            if node.module.split(".")[0] == "mongepatch":
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("mongepatch."))


def graph():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        found.setdefault(room, set()).update(imports_of(path))
    return {room: rooms - {room} for room, rooms in found.items()}


def is_small(module):
    return (module.startswith("_") and module not in ENTRIES) or module in {"errors", "validation"}


GRAPH, TABLE = graph(), table()
ROOMS = sorted(room for room in GRAPH if not is_small(room) and room not in ENTRIES)


def test_the_table_has_every_room_and_no_other():
    assert sorted(TABLE) == ROOMS


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_its_row_names(room):
    used = {other for other in GRAPH[room] if not is_small(other)}
    assert used <= TABLE[room], f"{room} must not know of {sorted(used - TABLE[room])}: see docs/design.md"
    assert used == TABLE[room], f"docs/design.md lets {room} import {sorted(TABLE[room] - used)}, which it does not"


def test_small_modules_use_no_room():
    used = {name: sorted(other for other in GRAPH[name] if not is_small(other)) for name in GRAPH if is_small(name)}
    assert not any(used.values()), used


def test_the_table_has_no_cycle():
    order = list(TopologicalSorter(TABLE).static_order())  # raises where there is one
    assert sorted(order) == ROOMS
