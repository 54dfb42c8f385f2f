"""Figures as files, and embedded in a page."""

import base64
import io
from pathlib import Path
from typing import NamedTuple

from mongepatch.paper.item import Figure
from mongepatch.paper.style import styled

HEAVY = 1_500_000
"""Bytes of an SVG above which the page holds the PNG."""
PIXELS_PER_INCH = 96
"""Of a browser."""


class Picture(NamedTuple):
    """A figure, drawn."""

    figure: Figure
    svg: bytes
    png: bytes

    @property
    def uri(self) -> str:
        """The picture as a data address, so that the page needs no other file."""
        kind, content = ("svg+xml", self.svg) if len(self.svg) <= HEAVY else ("png", self.png)
        return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels of the page, which reserve the space until the picture is loaded."""
        width, height = self.figure.drawing.get_size_inches()
        return round(width * PIXELS_PER_INCH), round(height * PIXELS_PER_INCH)


def draw(figure: Figure) -> Picture:
    """Both forms of a figure. The same numbers give the same bytes: no date, and identifiers from a fixed salt."""
    svg, png = io.BytesIO(), io.BytesIO()
    with styled():
        figure.drawing.savefig(png, format="png")
        figure.drawing.savefig(svg, format="svg", metadata={"Date": None})
    return Picture(figure, svg.getvalue(), png.getvalue())


def save(picture: Picture, out: Path) -> None:
    """Both forms as files."""
    (out / f"{picture.figure.name}.svg").write_bytes(picture.svg)
    (out / f"{picture.figure.name}.png").write_bytes(picture.png)
