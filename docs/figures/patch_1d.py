"""A density of one parameter, the curve that α makes of it, and steps of equal length along the curve."""

import numpy as np
from scipy.stats import skewnorm

from docs.figures.common import BLUE, INK, ORANGE, PALE, canvas

GRID = np.linspace(-0.95, 4.3, 4000)


def log_density(x):
    """A density with one steep side."""
    return skewnorm(6, loc=-0.3, scale=1.5).logpdf(x)


def draw():
    """The density; then (x, αℓ(x)) for two α, with points at equal distances along it and their shadows on the axis."""
    figure, axes = canvas(3, 1, 1.75, sharex=True, height_ratios=(0.8, 1.2, 1.6))
    ell = log_density(GRID)
    axes[0, 0].fill_between(GRID, np.exp(ell), color=PALE, alpha=0.5)
    axes[0, 0].plot(GRID, np.exp(ell), color=INK)
    axes[0, 0].set(title="a density exp ℓ(x), steep on its left side", yticks=[])
    for axis, alpha, colour in zip(axes[1:, 0], (0.15, 0.5), (BLUE, ORANGE), strict=True):
        height = alpha * ell
        length = np.append(0, np.cumsum(np.hypot(np.diff(GRID), np.diff(height))))
        x = np.interp(np.arange(0.0, length[-1], 0.3), length, GRID)
        floor = height.min() - 0.35
        axis.plot(GRID, height, color=colour)
        axis.vlines(x, floor, np.interp(x, GRID, height), color=PALE, linewidth=0.7)
        axis.plot(x, np.interp(x, GRID, height), "o", color=colour, markersize=3.5)
        axis.plot(x, np.full(x.size, floor), "|", color=INK, markersize=8)
        axis.set(title=f"its patch (x, αℓ(x)) with α = {alpha}: steps of length 0.3, and what they are in x", yticks=[])
        axis.set_aspect("equal" if False else "auto")
    axes[2, 0].set(xlabel="x", xlim=(GRID[0], GRID[-1]))
    return figure
