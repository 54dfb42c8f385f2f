"""The supplement's figure of all marginals of `a`."""

import numpy as np

from mongepatch.bench.funnel import TRUTH
from mongepatch.paper.funnels import EDGES
from mongepatch.paper.item import Figure, Numbers
from mongepatch.paper.style import COLOURS, INK, canvas


def marginals(runs: list[Numbers]) -> Figure:
    """Histograms over the truth, a row for each D."""
    dimensions = sorted({run["dimension"] for run in runs})
    figure, axes = canvas(len(dimensions), 3, height=1.7, sharex=True, sharey=True)
    centres = 0.5 * (EDGES[1:] + EDGES[:-1])
    truth = np.diff(TRUTH.cdf(EDGES)) / np.diff(EDGES)
    pairs = (("LMC-Monge", "HMC"), ("NUTS", "WALNUTS"), ("automatic", "automatic, residuals"))
    for row, dimension in zip(axes, dimensions, strict=True):
        row[0].set_ylabel(f"D = {dimension}")
        for axis, pair in zip(row, pairs, strict=True):
            axis.plot(centres, truth, color=INK, linewidth=0.9)
            for run in runs:
                if run["dimension"] == dimension and run["sampler"] in pair:
                    axis.stairs(run["histogram"], EDGES, color=COLOURS[run["sampler"]], label=run["sampler"])
    for axis, pair in zip(axes[0], pairs, strict=True):
        axis.set_title(" and ".join(pair))
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8, loc="upper left")
    for axis in axes[-1]:
        axis.set_xlabel("a")
    caption = (
        "Marginals of a for every D; the truth is the smooth line. Mass that is missing on the left is a neck that was "
        "never entered. The rest is then too high, and nothing else gives it away."
    )
    return Figure("figure-5-marginals", figure, caption, "Histograms of a for every D and sampler, over the truth.")
