"""What figures share: a size that a phone can show, a style, and files of few bytes."""

import io
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from mongepatch.paper import style

CYCLE = style.CYCLE
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY = CYCLE
INK, PALE = style.INK, style.PALE
PAPER = "#fbfbf9"
"""The background of every figure, so that it is readable on a light page and on a dark one."""
WIDTH = 6.4
"""Of a figure, in inches: text of 10 points is then still read on a phone."""


def canvas(rows: int = 1, columns: int = 1, height: float = 2.9, **settings: Any) -> tuple[Figure, np.ndarray]:
    """A figure, `height` inches a row, and its axes, always a matrix; no window is opened."""
    matplotlib.rcParams.update(style.SETTINGS | {"savefig.dpi": 150})
    figure = Figure(figsize=(WIDTH, height * rows), facecolor=PAPER)
    axes = figure.subplots(rows, columns, squeeze=False, **settings)
    for axis in axes.ravel():
        axis.set_facecolor(PAPER)
    return figure, axes


def save(figure: Figure | Path, path: Path, colours: int = 96) -> None:
    """Write a figure, or a picture that is in a file, with few colours, which takes a third of the bytes."""
    drawn: io.BytesIO | Path = io.BytesIO()
    if isinstance(figure, Path):
        drawn = figure
    else:
        figure.savefig(drawn, format="png", facecolor=PAPER, dpi=150)
    picture = Image.open(drawn).convert("RGB")
    path.parent.mkdir(exist_ok=True)
    picture.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)


def dots(axis: Any, x: Any, y: Any, colour: str, most: int = 3000, **settings: Any) -> None:
    """A random subset of draws."""
    x, y = np.ravel(x), np.ravel(y)
    kept = np.random.default_rng(0).permutation(x.size)[:most]
    axis.plot(x[kept], y[kept], ".", **{"markersize": 2.5, "alpha": 0.4, "linewidth": 0, "color": colour} | settings)


def values(tree: Any, name: str, group: str = "posterior") -> np.ndarray:
    """A variable of a result, of shape [chain, draw, …]."""
    return np.asarray(tree[group][name])
