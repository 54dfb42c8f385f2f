"""Trajectories that end at the largest depth: a normal density whose scales differ, without and with a mass matrix."""

import jax.numpy as jnp
import numpy as np

import mongepatch as mp
from docs.figures.common import BLUE, ORANGE, canvas, values
from docs.figures.runs import quietly

SCALES = jnp.logspace(0, 3, 20)


def density(x):
    """Twenty independent normals, with scales from 1 to 1000."""
    return -0.5 * ((x / SCALES) ** 2).sum()


def draw():
    """Depths of trees, with a mass matrix of ones and with that of warm-up."""
    figure, axes = canvas(1, 2, 2.5, sharey=True)
    plain = {"metric": mp.Euclidean(jnp.ones(20)), "trajectory": mp.NUTS(8), "draws": 300, "warmup": 100}
    found = {"metric": "euclidean", "trajectory": mp.NUTS(8), "draws": 300}
    for axis, (name, settings, colour) in zip(
        axes[0], (("no mass matrix", plain, ORANGE), ("with warm-up", found, BLUE)), strict=True
    ):
        tree = quietly(density, jnp.zeros(20), **settings)
        depth = values(tree, "tree_depth", "sample_stats").ravel()
        at_end = values(tree, "reached_max_treedepth", "sample_stats").mean()
        axis.hist(depth, np.arange(0.5, 9), density=True, color=colour, rwidth=0.85)
        axis.set(title=f"{name}: {at_end:.0%} at the limit", xlabel="tree_depth", xticks=range(1, 9))
    axes[0, 0].set_ylabel("fraction of draws")
    return figure
