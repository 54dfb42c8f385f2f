"""The page guide_stan: effects of the schools as observed and as estimated."""

import numpy as np

from docs.figures.common import BLUE, ORANGE, canvas, values
from docs.figures.guides import run_page


def draw():
    """One row a school."""
    page = run_page("guide_stan")
    low, middle, high = np.quantile(values(page["tree"], "theta"), [0.055, 0.5, 0.945], axis=(0, 1))
    figure, axes = canvas(1, 1, 3.2)
    rows, axis = np.arange(8), axes[0, 0]
    axis.errorbar(
        page["data"]["y"],
        rows - 0.12,
        xerr=page["data"]["sigma"],
        fmt="x",
        color=ORANGE,
        linewidth=1,
        label="observed, ± a standard error",
    )
    axis.hlines(rows + 0.12, low, high, color=BLUE, linewidth=1)
    axis.plot(middle, rows + 0.12, "o", color=BLUE, label="the model, with 89% intervals")
    axis.set(
        yticks=rows, yticklabels=list("ABCDEFGH"), xlabel="effect of coaching, points of the test", ylabel="school"
    )
    axis.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure
