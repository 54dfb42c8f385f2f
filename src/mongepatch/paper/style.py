"""The common style of all figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch._extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which the colour-blind tell apart.
COLOURS = {
    "LMC-Monge": "#0072B2",
    "HMC": "#D55E00",
    "NUTS": "#E69F00",
    "WALNUTS": "#009E73",
    "automatic": "#CC79A7",
    "automatic, residuals": "#56B4E9",
    "LMC-Fisher": "#009E73",
    "RMHMC-Fisher": "#56B4E9",
}
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Markers that repeat what the colours say."""
INK, PALE = "#222222", "#B8B8B8"
WIDTH = 9.0
"""Of a figure, in inches; a phone shows it as wide as its screen."""

SETTINGS: dict[str, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "svg.hashsalt": "mongepatch",  # the same numbers give the same file
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style; the user's own settings do not change."""
    matplotlib = require("matplotlib", "paper", "A figure")
    with matplotlib.rc_context(SETTINGS):
        yield


def canvas(rows: int = 1, columns: int = 1, height: float = 3.2, **settings: Any) -> tuple["Figure", Any]:
    """A figure of the usual width, `height` inches a row, and its axes, always a matrix; no window is opened."""
    figure = require("matplotlib.figure", "paper", "A figure").Figure(figsize=(WIDTH, height * rows))
    return figure, figure.subplots(rows, columns, squeeze=False, **settings)


def contours(axis: Any, logdensity: Any, x: np.ndarray, y: np.ndarray, depths: Any = (0.5, 2.0, 4.5, 8.0)) -> None:
    """Contours of a density of two coordinates, at these depths below its highest point on the grid."""
    import jax
    import jax.numpy as jnp

    grid_x, grid_y = np.meshgrid(x, y)
    values = np.asarray(jax.jit(jax.vmap(jax.vmap(logdensity)))(jnp.stack([grid_x, grid_y], axis=-1)))
    levels = np.sort(values[np.isfinite(values)].max() - np.asarray(depths))
    axis.contour(grid_x, grid_y, values, levels=levels, colors=PALE, linewidths=0.8, linestyles="solid")


def cloud(axis: Any, x: np.ndarray, y: np.ndarray, colour: str, most: int = 4000) -> None:
    """A random subset of draws, as pixels: thousands of vector points would make a large file."""
    kept = np.random.default_rng(0).permutation(x.size)[:most]
    axis.plot(
        x.ravel()[kept], y.ravel()[kept], ".", markersize=2, alpha=0.35, color=colour, rasterized=True, linewidth=0
    )


def histogram(axis: Any, draws: np.ndarray, bins: np.ndarray, colour: str, label: str = "") -> None:
    """The outline of a histogram, as a density."""
    axis.hist(draws.ravel(), bins, density=True, histtype="step", linewidth=1.4, color=colour, label=label)
