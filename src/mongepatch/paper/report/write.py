"""Writes the folder of a report."""

import json
from collections.abc import Sequence
from pathlib import Path

from mongepatch.paper.item import Section, Size
from mongepatch.paper.report.facts import Part, results, run_facts
from mongepatch.paper.report.page import page_of
from mongepatch.paper.report.pictures import draw, save
from mongepatch.paper.report.tables import csv_of


def write(out: Path, parts: Sequence[Part], size: Size, jobs: int) -> None:
    """Figures as SVG and PNG, tables as CSV, all of it as `results.json`, and `report.html`.

    Files of an earlier run are overwritten; files of items that are not in this run stay.
    """
    out.mkdir(parents=True, exist_ok=True)
    run = run_facts(parts, size, jobs)
    pictures = {}
    for part in parts:
        section = part.section or Section()
        pictures[part.item.name] = [draw(figure) for figure in section.figures]
        for picture in pictures[part.item.name]:
            save(picture, out)
        for table in section.tables:
            _text(out / f"{table.name}.csv", csv_of(table))
    content = json.dumps(results(parts, run), ensure_ascii=False, allow_nan=False, indent=1)
    _text(out / "results.json", content + "\n")
    _text(out / "report.html", page_of(parts, run, pictures))


def _text(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", newline="\n")  # the same bytes on every system
