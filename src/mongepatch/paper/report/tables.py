"""Tables as files, and as part of a page."""

import csv
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from mongepatch.paper.item import Column, Table
from mongepatch.paper.report.values import is_missing, is_number, scalar, written

SHORT = 24
"""Characters of the head of a row that are kept on one line."""


def csv_of(table: Table) -> str:
    """The values as they are; nothing where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    writer.writerows([scalar(value) for value in row] for row in table.rows)
    return text.getvalue()


def shown(table: Table, identifier: str, *, with_file: bool = True) -> str:
    """A table under its title, with what its columns mean."""
    numeric = [_numeric(column, [row[i] for row in table.rows]) for i, column in enumerate(table.columns)]
    headers = [(column.name, number) for column, number in zip(table.columns, numeric, strict=True)]
    rows = [
        "".join(
            _cell(value, column, number, head=i == 0 and not number)
            for i, (value, column, number) in enumerate(zip(row, table.columns, numeric, strict=True))
        )
        for row in table.rows
    ]
    file = f'<p class="files"><a href="{escape(table.name)}.csv">{escape(table.name)}.csv</a></p>' if with_file else ""
    return "\n".join(
        part
        for part in (
            f'<h3 id="{escape(identifier)}">{escape(table.title)}</h3>',
            sortable(headers, rows, identifier),
            f'<p class="note">{escape(table.note)}</p>' if table.note else "",
            _meanings(table.columns),
            file,
        )
        if part
    )


def sortable(headers: Iterable[tuple[str, bool]], rows: Iterable[str], label: str, kind: str = "") -> str:
    """A table that sorts by its columns, numerically where they say so, in a box of its own that scrolls.

    Rows come as their cells. The box can be reached, and so scrolled, by keyboard.
    """
    heads = "".join(
        f'<th scope="col"{_kind(number)}><button type="button">{escape(name)}</button></th>' for name, number in headers
    )
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="{f"scroll {kind}".strip()}" role="region" aria-labelledby="{escape(label)}" tabindex="0">'
        f'<table aria-labelledby="{escape(label)}">\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _numeric(column: Column, values: Sequence[Any]) -> bool:
    there = [value for value in values if not is_missing(value)]
    return bool(column.form) or (bool(there) and all(is_number(value) for value in there))


def _kind(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _cell(value: Any, column: Column, numeric: bool, head: bool) -> str:
    """Numbers carry their full value, which they are sorted by."""
    value = scalar(value)
    text = escape(written(value, column.form))
    if is_missing(value):
        return f'<td class="missing{" number" if numeric else ""}">{text}</td>'
    key = f' data-value="{_for_scripts(value)}"' if numeric and is_number(value) else ""
    short = ' class="short"' if len(text) <= SHORT else ""
    return f'<th scope="row"{short}>{text}</th>' if head else f"<td{_kind(numeric)}{key}>{text}</td>"


def _for_scripts(value: float) -> str:
    return repr(value).replace("inf", "Infinity")  # as JavaScript reads it


def _meanings(columns: Sequence[Column]) -> str:
    entries = "".join(
        f"<dt>{escape(column.name)}</dt><dd>{escape(column.meaning)}</dd>" for column in columns if column.meaning
    )
    return f"<details><summary>What the columns mean</summary><dl>{entries}</dl></details>" if entries else ""
