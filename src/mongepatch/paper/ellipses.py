"""Metrics of the plane as ellipses: the velocities of a fixed speed in every direction."""

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.metrics import Fisher, Metric, Monge, fitted
from mongepatch.paper.item import Numbers
from mongepatch.targets import Target, banana


def geometry(alpha: float | None, points: list[list[float]], draws: int, seed: int) -> Numbers:
    """G of the banana at points, and the short axes and shapes of its ellipses at exact draws of the posterior.

    Without α the metric is Fisher's.
    """
    target = banana()
    metric = Fisher(target.information) if alpha is None else Monge(alpha)
    assert target.truth is not None
    values, vectors = np.linalg.eigh(matrices(metric, target, target.truth.draw(jax.random.key(seed), draws)))
    return {
        "matrices": matrices(metric, target, jnp.asarray(points)),
        "short_axis": vectors[:, :, 1],
        "elongation": np.sqrt(values[:, 1] / values[:, 0]),
    }


def matrices(metric: Metric, target: Target, positions: jax.Array) -> np.ndarray:
    """G at several positions, from the metric's own product with a velocity."""
    metric = fitted(metric, positions[0])

    def matrix(position: jax.Array) -> jax.Array:
        point, _ = metric.at(target.logdensity, position)
        return jax.vmap(lambda velocity: metric.momentum(point, velocity))(jnp.eye(2))

    return np.asarray(jax.jit(jax.vmap(matrix))(positions))


def ellipse(matrix: np.ndarray, size: float) -> np.ndarray:
    """Points v with vᵀGv = size², of shape (2, 101): v = size · G^(−½) u with u on the unit circle."""
    angle = np.linspace(0.0, 2.0 * np.pi, 101)
    values, vectors = np.linalg.eigh(matrix)
    return size * (vectors / np.sqrt(values)) @ np.stack([np.cos(angle), np.sin(angle)])


def angles(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Degrees between axes, row by row, 0 to 90."""
    return np.degrees(np.arccos(np.clip(np.abs((one * other).sum(axis=1)), 0.0, 1.0)))
