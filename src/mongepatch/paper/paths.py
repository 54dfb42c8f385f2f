"""Trajectories on the ring of Figure 3."""

import numpy as np

from mongepatch.integrators import Lagrangian, integrate
from mongepatch.metrics import Euclidean, Monge
from mongepatch.paper.item import Numbers
from mongepatch.targets import ring


def follow(
    radius: float, variance: float, alpha: float, cut: int, step_size: float, num_steps: int, start: list[list[float]]
) -> Numbers:
    """A path, with the range of its radius, the angle that it covers, and the error that decides acceptance."""
    density, metric = ring(radius, variance), Monge(alpha) if alpha else Euclidean()
    x, v = start
    path = integrate(density, metric, x, v, step_size / cut, num_steps * cut, integrator=Lagrangian("paper"))
    positions, energy = np.asarray(path.position), np.asarray(path.energy - path.log_volume)
    r, angle = np.hypot(*positions.T), np.unwrap(np.arctan2(positions[:, 1], positions[:, 0]))
    return {
        "path": positions[::cut].astype(np.float32),
        "swing": float(np.ptp(r)),
        "angle": float(angle[-1] - angle[0]),
        "error": float(np.abs(energy - energy[0]).max()),
    }
