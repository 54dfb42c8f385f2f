"""The Monge metric of the funnel as ellipses: the steps of one length in all directions."""

import jax.numpy as jnp
import numpy as np

import mongepatch as mp
from docs.figures.common import BLUE, GREEN, ORANGE, canvas
from docs.figures.runs import FUNNEL
from mongepatch.paper.ellipses import ellipse, matrices
from mongepatch.paper.style import contours

PLACES = [(0.0, 4.0), (0.0, 0.0), (2.4, 3.0), (-2.2, 1.6), (0.9, 0.0), (-0.7, -1.8), (0.25, -3.0), (0.0, -5.0)]


def draw():
    """Ellipses at the same places, for three α."""
    figure, axes = canvas(1, 3, 3.4, sharey=True)
    points = jnp.asarray(PLACES)
    for axis, alpha, colour in zip(axes[0], (0.0, 0.3, 1.0), (ORANGE, GREEN, BLUE), strict=True):
        contours(axis, FUNNEL.logdensity, np.linspace(-4, 4, 300), np.linspace(-7, 6, 300), (0.5, 1, 2, 3, 4.5))
        for place, matrix in zip(PLACES, matrices(mp.Monge(alpha), FUNNEL, points), strict=True):
            outline = np.asarray(place)[:, None] + ellipse(matrix, 0.7)
            axis.fill(*outline, color=colour, alpha=0.25)
            axis.plot(*outline, color=colour)
        axis.set(title=f"α = {alpha:g}", xlabel="x", xlim=(-4, 4), ylim=(-7, 6))
    axes[0, 0].set_ylabel("a")
    return figure
