"""A trajectory on the ring as kicks and drifts, in a constant metric and in the Monge metric."""

import numpy as np

import mongepatch as mp
from docs.figures.common import BLUE, INK, ORANGE, canvas
from mongepatch.paper.style import contours

RING = mp.targets.ring()
STEP = 0.2


def draw():
    """Positions joined by drifts, and at each of them the change of velocity that its kick makes."""
    figure, axes = canvas(1, 2, 3.7, sharey=True)
    for axis, (name, alpha, colour) in zip(
        axes[0], (("constant metric (HMC)", 0.0, ORANGE), ("Monge metric, α = 0.5", 0.5, BLUE)), strict=True
    ):
        contours(axis, RING.logdensity, np.linspace(9, 14, 300), np.linspace(-3, 8.5, 300))
        path = mp.integrate(RING, mp.Monge(alpha), [11.7, -2.0], [0.9, 1.6], STEP, 29)
        position, velocity = np.asarray(path.position), np.asarray(path.velocity)
        kick = np.diff(position[1:], axis=0) / STEP - np.diff(position[:-1], axis=0) / STEP
        axis.plot(*position.T, "-o", color=colour, markersize=3, linewidth=1)
        axis.plot(*position[0], "o", color=INK, markersize=6)
        axis.quiver(*position[1:-1].T, *(0.4 * kick).T, angles="xy", scale_units="xy", scale=1, color=INK, width=0.006)
        axis.annotate(
            "", position[0] + 0.5 * velocity[0], position[0], arrowprops={"arrowstyle": "->", "color": colour}
        )
        axis.set(title=name, xlabel="first parameter", xlim=(9, 14), ylim=(-3, 8.5))
    axes[0, 0].set_ylabel("second parameter")
    return figure
