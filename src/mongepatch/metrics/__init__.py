"""Metrics: how a sampler measures distance, one short file each."""

from mongepatch.metrics.answers import check_answers
from mongepatch.metrics.base import (
    Bend,
    Cost,
    DriftingMetric,
    Metric,
    Point,
    Slope,
    check_metric,
    drift,
    energy,
    fitted,
    hamiltonian,
)
from mongepatch.metrics.dense import Dense
from mongepatch.metrics.euclidean import Euclidean, for_many_steps, turning_frequency
from mongepatch.metrics.fisher import Fisher, GaussNewtonFisher
from mongepatch.metrics.monge import Monge
from mongepatch.metrics.patch import Patch
from mongepatch.metrics.softabs import SoftAbs

__all__ = [
    "Bend",
    "Cost",
    "Dense",
    "DriftingMetric",
    "Euclidean",
    "Fisher",
    "GaussNewtonFisher",
    "Metric",
    "Monge",
    "Patch",
    "Point",
    "Slope",
    "SoftAbs",
    "check_answers",
    "check_metric",
    "drift",
    "energy",
    "fitted",
    "for_many_steps",
    "hamiltonian",
    "turning_frequency",
]
