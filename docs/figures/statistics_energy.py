"""Energy, its error, and the change of volume, on the funnel."""

import numpy as np

from docs.figures.common import BLUE, ORANGE, canvas, values
from docs.figures.runs import hmc, monge


def draw():
    """HMC and LMC-Monge at the same settings."""
    figure, axes = canvas(1, 3, 2.6)
    for name, tree, colour in (("HMC", hmc(), ORANGE), ("LMC-Monge", monge(), BLUE)):
        energy, error, volume = (
            values(tree, statistic, "sample_stats").ravel() for statistic in ("energy", "energy_error", "log_volume")
        )
        settings = {"density": True, "histtype": "step", "color": colour, "label": name}
        axes[0, 0].hist(energy, np.linspace(-5, 12, 60), **settings)
        axes[0, 1].hist(error[np.isfinite(error)], np.linspace(-3, 6, 60), **settings)
        axes[0, 2].hist(volume[np.isfinite(volume)], np.linspace(-4, 4, 60), **settings)
    for axis, title in zip(axes[0], ("energy", "energy_error", "log_volume"), strict=True):
        axis.set(title=title)
    axes[0, 1].set_yscale("log")
    axes[0, 2].set_ylim(0, 1.5)
    axes[0, 0].legend(fontsize=8)
    return figure
