"""Figures that the code of a page itself makes."""

import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from docs.figures.common import PAPER

DOCS = Path(__file__).parent.parent


@cache
def run_page(page: str) -> dict[str, Any]:
    """What the code of a page defines."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(block, namespace)
    return namespace


def figure_of(page: str, name: str, height: float = 3.6) -> Figure:
    """The figure of an ArviZ plot that the code of a page keeps by this name."""
    figure: Figure = run_page(page)[name].viz["figure"].item()
    figure.set_size_inches(6.4, height)
    for axis in figure.axes:
        axis.set_facecolor(PAPER)
    return figure
