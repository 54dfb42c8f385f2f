"""The path of ε and of the acceptance rate through warm-up."""

import numpy as np

import mongepatch as mp
from docs.figures.common import BLUE, GREEN, INK, ORANGE, PALE, canvas, values
from docs.figures.runs import groups_target, quietly


def draw():
    """A regression, whose trajectory is chosen, and a hierarchical model, which is whitened."""
    figure, axes = canvas(2, 2, 2.2, sharex=True)
    runs = (
        ("a logistic regression", mp.datasets.load("heart").target(), BLUE),
        ("twenty groups", groups_target(), GREEN),
    )
    for column, (name, target, colour) in enumerate(runs):
        tree = quietly(target, save_warmup=True, draws=200)
        step_size = values(tree, "step_size", "warmup_sample_stats")[0]
        acceptance = values(tree, "acceptance_rate", "warmup_sample_stats").mean(axis=0)
        top, bottom = axes[:, column]
        top.semilogy(step_size, color=colour, linewidth=0.8)
        top.axhline(tree["posterior"].attrs["step_size"], color=INK, linestyle=":", linewidth=1)
        smooth = np.convolve(acceptance, np.ones(20) / 20, mode="valid")
        bottom.plot(acceptance, ".", color=PALE, markersize=2)
        bottom.plot(np.arange(smooth.size) + 10, smooth, color=ORANGE)
        top.set_title(f"{name}: ε")
        bottom.set(title="acceptance rate, mean of the chains", xlabel="draw of warm-up", ylim=(0, 1.05))
    return figure
