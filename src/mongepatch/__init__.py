"""Exact Lagrangian Monte Carlo on Monge patches, for posteriors of strongly varying curvature."""

from mongepatch import targets
from mongepatch._version import __version__
from mongepatch.errors import (
    LogDensityError,
    MetricError,
    MissingExtraError,
    MongepatchError,
    ParameterError,
    SamplingWarning,
    SettingError,
)
from mongepatch.integrators import Path, integrate
from mongepatch.kernels import Algorithm, Failure, Info, State, lmc
from mongepatch.metrics import Euclidean, Metric, Monge
from mongepatch.sampling import sample
from mongepatch.targets import Target
from mongepatch.trajectories import Static

__all__ = [
    "Algorithm",
    "Euclidean",
    "Failure",
    "Info",
    "LogDensityError",
    "Metric",
    "MetricError",
    "MissingExtraError",
    "Monge",
    "MongepatchError",
    "ParameterError",
    "Path",
    "SamplingWarning",
    "SettingError",
    "State",
    "Static",
    "Target",
    "__version__",
    "integrate",
    "lmc",
    "sample",
    "targets",
]
