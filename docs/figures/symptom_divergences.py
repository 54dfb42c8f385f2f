"""Divergences of a centred model: they lie at the entrance of the neck."""

import numpy as np

from docs.figures.common import BLUE, INK, ORANGE, canvas, dots, values
from docs.figures.runs import groups_by_numpyro, groups_whitened

GROUP = 10


def draw():
    """NumPyro's NUTS on the model as it is written, with its divergences, beside the draws of `mp.sample`."""
    figure, axes = canvas(1, 2, 3.0, sharex=True, sharey=True)
    theirs, tree = groups_by_numpyro(), groups_whitened()
    ours = {name: values(tree, name) for name in ("theta", "tau")}
    ours["diverging"] = values(tree, "diverging", "sample_stats")
    for axis, (name, draws, colour) in zip(
        axes[0], (("NumPyro's NUTS", theirs, ORANGE), ("mp.sample", ours, BLUE)), strict=True
    ):
        theta, tau = np.asarray(draws["theta"])[..., GROUP], np.log(draws["tau"])
        diverging = np.asarray(draws["diverging"])
        dots(axis, theta, tau, colour, alpha=0.3)
        axis.plot(theta[diverging], tau[diverging], "x", color=INK, markersize=5)
        axis.set(title=f"{name}: {diverging.sum()} divergences", xlabel="theta of one group")
        axis.set(xlim=(-0.9, 0.9), ylim=(-8, 0.3))
    axes[0, 0].set_ylabel("log tau")
    return figure
