"""Warm-up: step size, base metric, α and trajectory, found from draws that are thrown away."""

from mongepatch.warmup.basics import ACCEPTANCE, basics
from mongepatch.warmup.rehearsal import Rehearsal
from mongepatch.warmup.unknowns import MetricName, TrajectoryName, Unknowns, begin
from mongepatch.warmup.warmup import Choice, warm_up

__all__ = [
    "ACCEPTANCE",
    "Choice",
    "MetricName",
    "Rehearsal",
    "TrajectoryName",
    "Unknowns",
    "basics",
    "begin",
    "warm_up",
]
