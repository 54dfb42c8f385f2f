"""The section of the page for one item."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from mongepatch.paper.item import Claim, Column, Table, Task
from mongepatch.paper.report.facts import Part, seconds_of
from mongepatch.paper.report.pictures import Picture
from mongepatch.paper.report.tables import shown
from mongepatch.paper.report.values import plain, written
from mongepatch.paper.verdicts import badge


def section_of(part: Part, pictures: Sequence[Picture]) -> str:
    """The section of an item, with or without results."""
    item, section = part.item, part.section
    pieces = [f"<h2>{escape(item.title)}</h2>", f"<p>{escape(item.about)}</p>" if item.about else ""]
    if section is None:
        pieces.append('<p class="empty">Nothing of this item could be done: there is nothing to show.</p>')
    else:
        pieces.append(_claims(section.claims))
        pieces += [_figure(picture) for picture in pictures]
        tables = [table for table in section.tables if table.shown]
        pieces += [shown(table, f"{item.name}--table-{i}") for i, table in enumerate(tables)]
        pieces.append(_files([table for table in section.tables if not table.shown]))
    pieces.append(_troubles("Failed", part.done.failed))
    pieces.append(_troubles("Left out", part.done.left_out))
    pieces.append(_settings(part))
    content = "\n".join(piece for piece in pieces if piece)
    return f'<section id="{escape(item.name)}">\n{content}\n</section>'


def _claims(claims: Iterable[Claim]) -> str:
    entries = "\n".join(
        f"<li>{badge(claim.verdict)}<dl><dt>The paper says</dt><dd>{escape(claim.paper)}</dd>"
        f"<dt>Found here</dt><dd>{escape(claim.measured)}</dd></dl></li>"
        for claim in claims
    )
    return f'<h3>Claims</h3>\n<ul class="claims">\n{entries}\n</ul>' if entries else ""


def _figure(picture: Picture) -> str:
    figure, (width, height) = picture.figure, picture.size
    name = escape(figure.name)
    return (
        f'<figure>\n<img src="{picture.uri}" width="{width}" height="{height}" alt="{escape(figure.alternative)}">\n'
        f'<figcaption>{escape(figure.caption)} <span class="files"><a href="{name}.svg">{name}.svg</a> '
        f'<a href="{name}.png">{name}.png</a></span></figcaption>\n</figure>'
    )


def _files(tables: Iterable[Table]) -> str:
    """Tables that are too long for the page."""
    entries = "".join(
        f'<li>{escape(table.title)} <span class="files"><a href="{escape(table.name)}.csv">{escape(table.name)}.csv</a>'
        "</span></li>"
        for table in tables
    )
    return f"<h3>In files only</h3>\n<ul>{entries}</ul>" if entries else ""


def _troubles(title: str, reasons: Mapping[str, str]) -> str:
    """Tasks that were not done, grouped by reason."""
    labels: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        labels.setdefault(reason, []).append(label)
    entries = "\n".join(
        f'<li><strong>{escape(", ".join(which))}</strong><p class="reason">{escape(reason)}</p></li>'
        for reason, which in labels.items()
    )
    kind = title.lower().replace(" ", "-")
    return f'<div class="trouble {kind}">\n<h3>{title}</h3>\n<ul>\n{entries}\n</ul></div>' if entries else ""


def _settings(part: Part) -> str:
    """Settings that all tasks share, and a table of the others."""
    if not part.tasks:
        return ""
    shared = _shared(part.tasks)
    names = {name: None for task in part.tasks for name in task.settings if name not in shared}  # each once, in order
    rows = [
        [task.label, *(_entry(task.settings.get(name)) for name in names), seconds_of(part, task)]
        for task in part.tasks
    ]
    columns = [
        Column("task"),
        *(Column(name) for name in names),
        Column("seconds", ".1f"),
    ]
    note = ", ".join(f"{name} = {written(value)}" for name, value in shared.items())
    table = Table("", "Tasks", columns, rows, f"All of them with {note}." if note else "")
    content = shown(table, f"{part.item.name}--tasks", with_file=False)
    return f'<details class="settings"><summary>Settings</summary>\n{content}\n</details>'


def _shared(tasks: Sequence[Task]) -> dict[str, Any]:
    """Settings that are the same in all tasks, where there are several."""
    if len(tasks) == 1:
        return dict(tasks[0].settings)
    first, *others = tasks
    return {
        name: value
        for name, value in first.settings.items()
        if all(name in task.settings and plain(task.settings[name]) == plain(value) for task in others)
    }


def _entry(value: Any) -> Any:
    """A value for a table: numbers stay numbers, and are sorted as numbers."""
    return value if value is None or isinstance(value, bool | int | float | str) else written(value)
