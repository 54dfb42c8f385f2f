"""Energy that changes slowly: its marginal beside its changes from draw to draw."""

import numpy as np
from arviz_stats.base import array_stats

import mongepatch as mp
from docs.figures.common import INK, PALE, canvas, values
from docs.figures.runs import quietly


def draw():
    """NUTS on Neal's funnel with nine x's, and the same in whitened coordinates."""
    figure, axes = canvas(1, 2, 2.5)
    target = mp.targets.neal_funnel(9)
    nuts = quietly(target, metric="euclidean", whiten=False, trajectory="nuts", draws=2500)
    for axis, (name, tree) in zip(axes[0], (("NUTS", nuts), ("mp.sample", quietly(target, draws=2500))), strict=True):
        energy = values(tree, "energy", "sample_stats")
        bfmi = np.min(array_stats.bfmi(energy, chain_axis=0, draw_axis=1))
        middle = energy - energy.mean()
        bins = np.linspace(*np.quantile(middle, (0.0005, 0.9995)), 60)
        axis.hist(middle.ravel(), bins, density=True, color=PALE, label="energy")
        axis.hist(np.diff(energy).ravel(), bins, density=True, histtype="step", color=INK, label="its changes")
        axis.set(title=f"{name}: least BFMI {bfmi:.2f}", xlabel="energy, less its mean", yticks=[])
    axes[0, 0].legend(fontsize=8)
    return figure
