"""Exact Lagrangian Monte Carlo on Monge patches, for posteriors of strongly varying curvature."""

from mongepatch import baselines, datasets, frontends, integrators, kernels, metrics, targets
from mongepatch._cache import use_compilation_cache
from mongepatch._version import __version__
from mongepatch.coordinates import whiten
from mongepatch.errors import (
    DataError,
    LogDensityError,
    MetricError,
    MissingExtraError,
    ModelError,
    MongepatchError,
    ParameterError,
    SamplingWarning,
    SettingError,
)
from mongepatch.frontends import from_numpyro, from_pymc, from_stan
from mongepatch.integrators import Path, integrate
from mongepatch.kernels import Algorithm, Failure, Info, State, explicit_rmhmc, lmc, mmala, rmhmc
from mongepatch.metrics import Dense, Euclidean, Fisher, Metric, Monge, Patch, SoftAbs
from mongepatch.sampling import sample
from mongepatch.sampling.sample_pymc import sample_pymc
from mongepatch.targets import Target, residuals_of
from mongepatch.trajectories import NUTS, Static

__all__ = [
    "NUTS",
    "Algorithm",
    "DataError",
    "Dense",
    "Euclidean",
    "Failure",
    "Fisher",
    "Info",
    "LogDensityError",
    "Metric",
    "MetricError",
    "MissingExtraError",
    "ModelError",
    "Monge",
    "MongepatchError",
    "ParameterError",
    "Patch",
    "Path",
    "SamplingWarning",
    "SettingError",
    "SoftAbs",
    "State",
    "Static",
    "Target",
    "__version__",
    "baselines",
    "datasets",
    "explicit_rmhmc",
    "from_numpyro",
    "from_pymc",
    "from_stan",
    "frontends",
    "integrate",
    "integrators",
    "kernels",
    "lmc",
    "metrics",
    "mmala",
    "residuals_of",
    "rmhmc",
    "sample",
    "sample_pymc",
    "targets",
    "whiten",
]

use_compilation_cache()
