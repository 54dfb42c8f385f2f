"""Metrics: how a sampler measures distance, one short file each."""

from mongepatch.metrics.base import Bend, Cost, Metric, Point, check_metric, energy, fitted, hamiltonian
from mongepatch.metrics.euclidean import Euclidean
from mongepatch.metrics.monge import Monge

__all__ = ["Bend", "Cost", "Euclidean", "Metric", "Monge", "Point", "check_metric", "energy", "fitted", "hamiltonian"]
