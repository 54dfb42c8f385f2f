"""The paper's funnel by HMC and by LMC in the Monge metric, at the same settings."""

import numpy as np

from docs.figures.common import BLUE, INK, ORANGE, canvas, dots, values
from docs.figures.runs import FUNNEL, hmc, monge
from mongepatch.paper.style import contours


def draw():
    """Draws over contours, and the marginals of a beside the truth."""
    figure, axes = canvas(1, 3, 3.1)
    runs = (("HMC", hmc(), ORANGE), ("LMC-Monge", monge(), BLUE))
    for axis, (name, tree, colour) in zip(axes[0], runs, strict=False):
        a = values(tree, "a")
        contours(axis, FUNNEL.logdensity, np.linspace(-8, 8, 250), np.linspace(-16, 12, 250), (0.5, 2, 4, 7, 11))
        dots(axis, values(tree, "x")[..., 0], a, colour)
        axis.set(title=f"{name}, to a = {a.min():.0f}", xlim=(-8, 8), ylim=(-16, 12), xlabel="x", ylabel="a")
    bins = np.linspace(-14, 14, 57)
    grid = np.linspace(-14, 14, 200)
    axis = axes[0, 2]
    axis.plot(grid, np.exp(-(grid**2) / 30) / np.sqrt(30 * np.pi), color=INK, label="truth")
    for name, tree, colour in runs:
        axis.hist(values(tree, "a").ravel(), bins, density=True, histtype="step", color=colour, label=name)
    axis.set(title="density of a", xlabel="a", yticks=[], ylim=(0, 0.17))
    axis.legend(loc="upper right", fontsize=8)
    return figure
