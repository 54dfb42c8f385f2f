"""Two modes: every chain stays in one of them, and no sampler of this package changes that."""

import jax.numpy as jnp

from docs.figures.common import CYCLE, canvas, values
from docs.figures.runs import quietly


def density(x):
    """A mixture of two normals, ten deviations apart, the second with a third of the weight of the first."""
    return jnp.logaddexp(-0.5 * x**2, -0.5 * (x - 10.0) ** 2 - jnp.log(3.0))


def draw():
    """Traces of four chains, which start on both sides."""
    figure, axes = canvas(1, 1, 2.2)
    tree = quietly(density, jnp.array([0.0, 10.0, 0.5, 9.5]), init_per_chain=True, init_spread=0.0, draws=500)
    for chain, colour in enumerate(CYCLE[:4]):
        axes[0, 0].plot(values(tree, "x")[chain], linewidth=0.6, color=colour, label=f"chain {chain}")
    axes[0, 0].set(xlabel="draw", ylabel="x", title="a density with two modes, ten deviations apart")
    axes[0, 0].legend(fontsize=8, ncols=2, loc="center right")
    return figure
