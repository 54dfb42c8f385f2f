"""The figure and the table columns that Figure 4 and the squiggle share: one method in each column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mongepatch.paper.chains import truth_of
from mongepatch.paper.item import Column, Numbers
from mongepatch.paper.style import COLOURS, INK, canvas, cloud, contours
from mongepatch.targets import Target

COLUMNS = {
    "ks": Column("KS", ".4f", "Kolmogorov–Smirnov distance from the truth, all chains together"),
    "chain_ks": Column("KS of a chain", ".4f", "mean over the chains, each on its own"),
    "mean": Column("mean", ".2f"),
    "sd": Column("sd", ".2f"),
    "least": Column("least", ".1f"),
    "acceptance": Column("accepted", ".2f"),
    "diverging": Column("diverged", ".1%", "fraction of trajectories"),
    "grads": Column("gradients per draw", ".1f", "a Hessian-vector product counts as a gradient"),
    "ess": Column("least ESS", ",.0f", "over both coordinates: bulk, tails, squares; 0 where a chain does not move"),
    "ess_per_1000_grads": Column("ESS per 1000 gradients", ".2f"),
    "rhat": Column("R̂", ".3f"),
}
"""By the name of the number in the results of `chains.run`."""


def draw(
    found: Mapping[str, Numbers], target: Target, scalar: str, x: np.ndarray, y: np.ndarray, depths: Sequence[float]
) -> Any:
    """A column for each method: draws over contours on the grid of x and y, a trace, and the marginal on the truth."""
    figure, axes = canvas(3, len(found), 2.6, height_ratios=(1.5, 0.8, 1.0), sharex="row", sharey="row")
    truth = truth_of(target, scalar)
    for column, (method, numbers) in zip(axes.T, found.items(), strict=True):
        picture, trace, marginal = column
        colour = COLOURS[method]
        contours(picture, target, x, y, depths)
        cloud(picture, numbers["points"][:, 0], numbers["points"][:, 1], colour)
        if numbers["ess"] == 0:
            picture.text(0.5, 0.04, "a chain did not move", transform=picture.transAxes, ha="center")
        picture.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), title=method)
        trace.plot(numbers["trace"], linewidth=0.5, color=colour, rasterized=True)
        trace.set(xlabel=f"last {numbers['trace'].size:,} draws of a chain")
        edges = numbers["edges"]
        marginal.stairs(numbers["density"], edges, fill=True, color=colour, alpha=0.35, label="draws")
        expected = np.diff(truth.cdf(edges)) / np.diff(edges)
        marginal.plot(0.5 * (edges[1:] + edges[:-1]), expected, color=INK, label="truth")
        marginal.set_ylim(0, 1.7 * expected.max())  # a constant chain would flatten all the others
        marginal.set(xlabel=scalar, xlim=(edges[0], edges[-1]), title=f"KS {numbers['ks']:.3f}")
    names = list(target.layout.names)
    axes[0, 0].set(ylabel=names[1])
    axes[1, 0].set(ylabel=scalar)
    axes[2, 0].set(ylabel=f"density of {scalar}")
    axes[2, 0].legend(loc="upper left", fontsize=9, handlelength=1.2)
    for picture in axes[0]:
        picture.set_xlabel(names[0])
    return figure
