"""The page guide_pymc: averages after 45 attempts, as estimated, and in the rest of the season."""

import numpy as np

from docs.figures.common import BLUE, INK, ORANGE, canvas, values
from docs.figures.guides import run_page


def draw():
    """One row a player."""
    page = run_page("guide_pymc")
    low, middle, high = np.quantile(values(page["tree"], "average"), [0.055, 0.5, 0.945], axis=(0, 1))
    figure, axes = canvas(1, 1, 4.6)
    rows, axis = np.arange(18), axes[0, 0]
    axis.hlines(rows, low, high, color=BLUE, linewidth=1)
    axis.plot(middle, rows, "o", color=BLUE, label="the model, with 89% intervals")
    axis.plot(page["hits"] / 45, rows, "x", color=ORANGE, label="after 45 attempts")
    axis.plot(page["rest"], rows, "D", color=INK, markersize=4, label="rest of the season")
    axis.set(yticks=rows, yticklabels=page["players"], xlabel="batting average")
    axis.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure
