"""The folder of a report."""

from collections.abc import Sequence
from pathlib import Path

from mongepatch.paper.item import Size
from mongepatch.paper.report.part import Part


def write(out: Path, parts: Sequence[Part], size: Size, jobs: int) -> None:
    """Figures as SVG and PNG, tables as CSV, all numbers as JSON, and `report.html`."""
    for part in parts:
        for figure in part.section.figures if part.section else ():
            figure.drawing.savefig(out / f"{figure.name}.png")
            figure.drawing.savefig(out / f"{figure.name}.svg", metadata={"Date": None})
