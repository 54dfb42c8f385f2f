"""What the report is told."""

from collections.abc import Sequence
from typing import NamedTuple

from mongepatch.paper.item import Item, Section, Task
from mongepatch.paper.work import Done


class Part(NamedTuple):
    """An item with what came of it."""

    item: Item
    section: Section | None
    """None where nothing could be done."""
    done: Done
    tasks: Sequence[Task]
