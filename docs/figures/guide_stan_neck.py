"""The page guide_stan: the neck of eight schools, without and with residuals."""

import numpy as np

from docs.figures.common import BLUE, INK, ORANGE, canvas, dots, values
from docs.figures.guides import run_page


def draw():
    """Log tau against the effect of the first school."""
    page = run_page("guide_stan")
    figure, axes = canvas(1, 2, 3.0, sharex=True, sharey=True)
    panels = (("constant metric", page["plain"], ORANGE), ("with residuals: whitened", page["tree"], BLUE))
    for axis, (title, tree, colour) in zip(axes[0], panels, strict=True):
        theta, tau = values(tree, "theta")[..., 0], np.log(values(tree, "tau"))
        diverging = values(tree, "diverging", "sample_stats")
        dots(axis, theta, tau, colour, alpha=0.3)
        axis.plot(theta[diverging], tau[diverging], "x", color=INK, markersize=4)
        axis.set(title=title, xlabel="effect of school A", xlim=(-20, 35), ylim=(-7, 4))
    axes[0, 0].set_ylabel("log tau")
    return figure
