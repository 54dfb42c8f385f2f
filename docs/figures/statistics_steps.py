"""Steps, gradients and depths of trees, by where the draw is in the funnel."""

import numpy as np

from docs.figures.common import GREEN, ORANGE, canvas, values
from docs.figures.runs import nuts, whitened


def draw():
    """NUTS in a constant metric, and everything automatic."""
    figure, axes = canvas(1, 3, 2.6)
    for name, tree, colour in (("NUTS", nuts(), ORANGE), ("mp.sample", whitened(), GREEN)):
        depth, steps, gradients = (
            values(tree, statistic, "sample_stats") for statistic in ("tree_depth", "n_steps", "n_grad")
        )
        share = np.bincount(depth.ravel(), minlength=9)[:9] / depth.size
        axes[0, 0].step(np.arange(9), share, where="mid", color=colour, label=name)
        axes[0, 1].semilogy(values(tree, "a")[0, ::10], steps[0, ::10], ".", markersize=2.5, color=colour, alpha=0.6)
        axes[0, 2].plot(np.cumsum(gradients[0]) / 1000, color=colour)
    axes[0, 0].set(title="tree_depth, share of draws", xlabel="depth")
    axes[0, 1].set(title="n_steps by place", xlabel="a")
    axes[0, 2].set(title="sum of n_grad, 1000s", xlabel="draw")
    axes[0, 0].legend(fontsize=8)
    return figure
