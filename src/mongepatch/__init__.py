"""Exact Lagrangian Monte Carlo on Monge patches, for posteriors of strongly varying curvature."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mongepatch._cache import use_compilation_cache
from mongepatch._version import __version__
from mongepatch.errors import (
    ArgumentError,
    DamagedStoreError,
    DataError,
    HostLostError,
    LockedStoreError,
    LogDensityError,
    MetricError,
    MissingExtraError,
    ModelError,
    MongepatchError,
    OtherRunError,
    ParameterError,
    SamplingInterrupted,
    SamplingWarning,
    SettingError,
    StoreError,
    TransportError,
    WorkerError,
)

if TYPE_CHECKING:
    from mongepatch import baselines, datasets, frontends, integrators, kernels, metrics, targets
    from mongepatch.coordinates import whiten
    from mongepatch.frontends import from_numpyro, from_pymc, from_stan
    from mongepatch.integrators import Path, integrate
    from mongepatch.kernels import Algorithm, Failure, Info, State, explicit_rmhmc, lmc, mmala, rmhmc
    from mongepatch.metrics import Dense, Euclidean, Fisher, Metric, Monge, Patch, SoftAbs
    from mongepatch.sampling import RunStatus, Store, Until, extend, resume, sample
    from mongepatch.sampling.cluster.merge import merge
    from mongepatch.sampling.sample_pymc import sample_pymc
    from mongepatch.store import open_store
    from mongepatch.targets import Target, residuals_of
    from mongepatch.trajectories import NUTS, Static

__all__ = [
    "NUTS",
    "Algorithm",
    "ArgumentError",
    "DamagedStoreError",
    "DataError",
    "Dense",
    "Euclidean",
    "Failure",
    "Fisher",
    "HostLostError",
    "Info",
    "LockedStoreError",
    "LogDensityError",
    "Metric",
    "MetricError",
    "MissingExtraError",
    "ModelError",
    "Monge",
    "MongepatchError",
    "OtherRunError",
    "ParameterError",
    "Patch",
    "Path",
    "RunStatus",
    "SamplingInterrupted",
    "SamplingWarning",
    "SettingError",
    "SoftAbs",
    "State",
    "Static",
    "Store",
    "StoreError",
    "Target",
    "TransportError",
    "Until",
    "WorkerError",
    "__version__",
    "baselines",
    "datasets",
    "explicit_rmhmc",
    "extend",
    "from_numpyro",
    "from_pymc",
    "from_stan",
    "frontends",
    "integrate",
    "integrators",
    "kernels",
    "lmc",
    "merge",
    "metrics",
    "mmala",
    "open_store",
    "residuals_of",
    "resume",
    "rmhmc",
    "sample",
    "sample_pymc",
    "targets",
    "whiten",
]

_ROOMS = ("baselines", "datasets", "frontends", "integrators", "kernels", "metrics", "targets")
"""Modules that are attributes of the package."""
_NAMES = {
    "coordinates": ("whiten",),
    "frontends": ("from_numpyro", "from_pymc", "from_stan"),
    "integrators": ("Path", "integrate"),
    "kernels": ("Algorithm", "Failure", "Info", "State", "explicit_rmhmc", "lmc", "mmala", "rmhmc"),
    "metrics": ("Dense", "Euclidean", "Fisher", "Metric", "Monge", "Patch", "SoftAbs"),
    "sampling": ("RunStatus", "Store", "Until", "extend", "resume", "sample"),
    "sampling.cluster.merge": ("merge",),
    "sampling.sample_pymc": ("sample_pymc",),
    "store": ("open_store",),
    "targets": ("Target", "residuals_of"),
    "trajectories": ("NUTS", "Static"),
}
"""What is imported from each module, when it is first used: `import mongepatch` alone takes little more than JAX."""

if not TYPE_CHECKING:  # or a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return import_module(f"{__name__}.{name}")
        for module, names in _NAMES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
                return value
        unknown = f"module {__name__!r} has no attribute {name!r}"
        meant = None if name.startswith("_") else _meant(name)  # Python and its tools look for many such names
        if meant is None:
            raise AttributeError(unknown)
        # With a name and no object Python adds no suggestion of its own, which notebooks would not show.
        raise AttributeError(f"{unknown}. Did you mean mp.{meant}?", name=name)

    def _meant(name: str) -> str | None:
        """The nearest of our names, in whatever case."""
        from difflib import get_close_matches

        names = {known.lower(): known for known in __all__}
        near = get_close_matches(name.lower(), names, n=1, cutoff=0.7)
        return names[near[0]] if near else None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


use_compilation_cache()
