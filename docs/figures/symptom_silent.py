"""A run without any symptom that is wrong: a longer step, no divergence, and no draw in the neck."""

import numpy as np
from arviz_stats.base import array_stats

from docs.figures.common import BLUE, INK, ORANGE, canvas, values
from docs.figures.runs import groups_by_nuts, groups_whitened
from mongepatch.demo.models import uneven_groups


def draw():
    """A trace that looks good, and the marginal beside the exact one."""
    figure, axes = canvas(1, 2, 2.8, width_ratios=(1.2, 1))
    tree = groups_by_nuts()
    log_tau = np.log(values(tree, "tau"))
    diverging = int(values(tree, "diverging", "sample_stats").sum())
    rhat = float(array_stats.rhat(log_tau, chain_axis=0, draw_axis=1))
    axes[0, 0].plot(log_tau[0, :1500], linewidth=0.5, color=ORANGE)
    axes[0, 0].set(title=f"{diverging} divergences, R̂ = {rhat:.3f}", xlabel="draw", ylabel="log tau", ylim=(-8, 0))
    grid, bins, axis = np.linspace(-8, 0.5, 400), np.linspace(-8, 0.5, 69), axes[0, 1]
    axis.semilogy(grid, np.gradient(uneven_groups().truth.cdf(grid), grid), color=INK, label="exact")
    axis.hist(log_tau.ravel(), bins, density=True, histtype="step", color=ORANGE, label="constant metric")
    ours = np.log(values(groups_whitened(), "tau"))
    axis.hist(ours.ravel(), bins, density=True, histtype="step", color=BLUE, label="mp.sample")
    axis.set(title="density of log tau", xlabel="log tau", xlim=(-8, 0.5), ylim=(5e-4, 60))
    axis.legend(fontsize=8, loc="upper left")
    return figure
