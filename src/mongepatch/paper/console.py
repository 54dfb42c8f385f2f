"""Tables on the terminal."""

from collections.abc import Iterable, Sequence
from typing import Any

from mongepatch._extras import require


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], footer: Sequence[str] = ()) -> None:
    """Print a table: the first column is a label, the others are numbers."""
    console = require("rich.console", "cli", "A table").Console(width=150)
    table = require("rich.table", "cli", "A table").Table(
        title=title, title_justify="left", min_width=len(title), box=require("rich.box", "cli", "A table").SIMPLE
    )
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left")
    for row in rows:
        table.add_row(*(str(entry) for entry in row))
    console.print(table)
    for line in footer:
        console.print(line)
