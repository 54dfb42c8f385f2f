"""The page guide_pymc: the neck of its model, by PyMC's NUTS and by `mp.sample`."""

import numpy as np

from docs.figures.common import BLUE, INK, ORANGE, canvas, dots, values
from docs.figures.guides import run_page


def draw():
    """The log of the spread against the logit of one player."""
    page = run_page("guide_pymc")
    theirs, ours = page["theirs"], page["tree"]
    diverging, ours_diverging = np.asarray(theirs.sample_stats["diverging"]), values(ours, "diverging", "sample_stats")
    figure, axes = canvas(1, 2, 3.0, sharex=True, sharey=True)
    panels = (
        (f"PyMC's NUTS: {diverging.sum()} divergences", theirs.posterior, ORANGE, diverging),
        (f"mp.sample: {ours_diverging.sum()} divergence", ours["posterior"], BLUE, ours_diverging),
    )
    for axis, (title, posterior, colour, marks) in zip(axes[0], panels, strict=True):
        logit, spread = np.asarray(posterior["logit"])[..., 0], np.log(np.asarray(posterior["spread"]))
        dots(axis, logit, spread, colour, alpha=0.3)
        axis.plot(logit[marks], spread[marks], "x", color=INK, markersize=4)
        axis.set(title=title, xlabel="logit of Clemente", ylim=(-9, 1))
    axes[0, 0].set_ylabel("log spread")
    return figure
