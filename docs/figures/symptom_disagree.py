"""Chains that do not agree: traces of the log scale."""

import numpy as np
from arviz_stats.base import array_stats

from docs.figures.common import BLUE, ORANGE, canvas, values
from docs.figures.runs import groups_by_numpyro, groups_whitened


def draw():
    """The first draws of two chains, by NumPyro's NUTS and by `mp.sample`."""
    figure, axes = canvas(2, 1, 1.7, sharex=True, sharey=True)
    runs = (
        ("NumPyro's NUTS", groups_by_numpyro()["tau"], ORANGE),
        ("mp.sample", values(groups_whitened(), "tau"), BLUE),
    )
    for axis, (name, tau, colour) in zip(axes[:, 0], runs, strict=True):
        log_tau = np.log(tau)
        rhat = float(array_stats.rhat(log_tau, chain_axis=0, draw_axis=1))
        ess = float(array_stats.ess(log_tau, chain_axis=0, draw_axis=1, method="tail", prob=(0.05, 0.95)))
        for chain, alpha in ((0, 1.0), (1, 0.5)):
            axis.plot(log_tau[chain, :1000], linewidth=0.6, color=colour, alpha=alpha)
        axis.set(title=f"{name}: R̂ = {rhat:.3f}, {ess:,.0f} effective draws of the tails", ylabel="log tau")
    axes[1, 0].set(xlabel="draw", ylim=(-8, 0))
    return figure
