"""Statistics of draws by where the draw is in the funnel: log density, acceptance, divergences."""

import numpy as np

from docs.figures.common import BLUE, INK, ORANGE, canvas, values
from docs.figures.runs import hmc, monge

BINS = np.linspace(-12, 12, 25)


def by_place(a, statistic):
    """Means of a statistic in bins of a, NaN where there are fewer than 20 draws."""
    place = np.digitize(a.ravel(), BINS)
    flat = statistic.ravel()
    return np.array([flat[place == k].mean() if (place == k).sum() >= 20 else np.nan for k in range(1, BINS.size)])


def draw():
    """HMC and LMC-Monge; a draw belongs to the place where its trajectory started."""
    figure, axes = canvas(2, 2, 2.4, sharex=True)
    middle = 0.5 * (BINS[1:] + BINS[:-1])
    for name, tree, colour in (("HMC", hmc(), ORANGE), ("LMC-Monge", monge(), BLUE)):
        a = values(tree, "a")
        start = a[:, :-1]
        for axis, statistic, label in (
            (axes[0, 1], "acceptance_rate", "acceptance_rate, mean"),
            (axes[1, 0], "accepted", "accepted, fraction"),
            (axes[1, 1], "diverging", "diverging, fraction"),
        ):
            found = values(tree, statistic, "sample_stats")[:, 1:]
            axis.plot(middle, by_place(start, found), "-o", markersize=3, color=colour, label=name)
            axis.set_title(label)
        lp = values(tree, "lp", "sample_stats")
        axes[0, 0].plot(a[0, ::15], lp[0, ::15], ".", markersize=2, color=colour, alpha=0.6)
    axes[0, 0].set(title="lp of each draw", ylim=(-12, 6))
    for axis in axes[1]:
        axis.set_xlabel("a at the start of the trajectory")
    axes[0, 1].legend(fontsize=8, labelcolor=INK)
    return figure
