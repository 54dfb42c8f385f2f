"""How stiff the funnel is for each metric along its neck: one stiff direction, and three."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

import mongepatch as mp
from docs.figures.common import BLUE, GREEN, INK, ORANGE, canvas
from mongepatch.metrics import fitted

NECK = np.linspace(6.0, -12.0, 60)


def residuals(position):
    """Those of the funnel: x/√softplus(a) and a/√15."""
    x, a = position[:-1], position[-1]
    return jnp.append(x / jnp.sqrt(jax.nn.softplus(a)), a / 15**0.5)


def stiffest(target, metric, dimension):
    """√λ with λ the largest curvature of −ℓ, in units of the metric, where the x's are one deviation from 0."""
    deviations = np.sqrt(np.asarray(jax.nn.softplus(NECK)))[:, None] * np.ones(dimension)
    positions = jnp.asarray(np.hstack([deviations, NECK[:, None]]))
    metric = fitted(metric, positions[0])

    def of(position):
        point, _ = metric.at(target.logdensity, position)
        matrix = jax.vmap(lambda velocity: metric.momentum(point, velocity))(jnp.eye(dimension + 1))
        return -jax.hessian(target.logdensity)(position), matrix

    hessians, matrices = (np.asarray(part) for part in jax.jit(jax.vmap(of))(positions))
    pairs = zip(hessians, matrices, strict=True)
    return np.sqrt([np.abs(scipy.linalg.eigh(h, g, eigvals_only=True)).max() for h, g in pairs])


def draw():
    """The longest stable step is 2 over what is shown: it should not depend on the place."""
    figure, axes = canvas(1, 2, 3.2, sharey=True)
    for axis, (dimension, words) in zip(axes[0], ((1, "one x"), (3, "three x's")), strict=True):
        target = mp.targets.funnel(dimension)
        for name, metric, colour in (
            ("constant metric", mp.Euclidean(), ORANGE),
            ("Monge metric, α = 1", mp.Monge(1.0), BLUE),
            ("patch of residuals, α = 1", mp.Patch(residuals, 1.0), GREEN),
        ):
            axis.semilogy(NECK, stiffest(target, metric, dimension), color=colour, label=name)
        axis.axhline(2 / 0.2, color=INK, linewidth=0.8, linestyle=":")
        axis.set(title=f"funnel with {words}", xlabel="a, into the neck", xlim=(6, -12))
    axes[0, 0].set_ylabel("stiffness √λ in the metric")
    axes[0, 0].annotate("unstable at ε = 0.2", (5.5, 11.5), fontsize=8)
    axes[0, 0].legend(loc="upper left", bbox_to_anchor=(0, 0.97), fontsize=8)
    return figure
