"""What users leave to warm-up, and what chains begin with in its place."""

from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from mongepatch.chains import Settings
from mongepatch.errors import MetricError, SettingError
from mongepatch.kernels import Kernel
from mongepatch.metrics import Euclidean, Metric, Monge
from mongepatch.metrics.inverse_mass import Structure, Unknown
from mongepatch.metrics.low_rank import LowRank
from mongepatch.trajectories import NUTS, Static, Trajectory
from mongepatch.warmup.length import JITTER
from mongepatch.warmup.mass import capacity

MetricName: TypeAlias = Literal["auto", "euclidean", "monge"]
TrajectoryName: TypeAlias = Literal["auto", "nuts", "static"]

_FIRST_LENGTH = 8
"""Steps of static trajectories before their length is known."""


class Unknowns(NamedTuple):
    """What warm-up has to find, besides the step size."""

    structure: Structure | None = None
    """Structure of the M⁻¹ to be found; None where it is given."""
    metric: bool = False
    """Whether to choose between the Euclidean and the Monge metric, where trajectories diverge."""
    alpha: bool = False
    """Whether α is to be found in any case."""
    length: bool = False
    """Whether the length of static trajectories is to be found."""
    compare_with_nuts: bool = False
    """Whether NUTS, with which chains begin, may be better than them."""

    @property
    def names(self) -> list[str]:
        """What users call them."""
        named = {"metric": self.metric, "alpha": self.alpha, "inverse_mass": self.structure, "trajectory": self.length}
        return [name for name, unknown in named.items() if unknown]


def begin(metric: Any, trajectory: Any, kernel: Kernel, dimension: int) -> tuple[Settings, Unknowns]:
    """Settings to begin with, and what is unknown about them."""
    first, length, nuts = _trajectory(trajectory, kernel)
    start, structure, choose, alpha = _metric(metric, dimension)
    return Settings(start, first), Unknowns(structure, choose, alpha, length, nuts)


def _metric(metric: Any, dimension: int) -> tuple[Metric, Structure | None, bool, bool]:
    choose = isinstance(metric, str) and metric == "auto"
    if isinstance(metric, str):
        if metric not in get_args(MetricName):
            raise MetricError(f"metric must be a metric or one of {get_args(MetricName)}; it is {metric!r}.")
        metric = Monge("auto", "auto") if metric == "monge" else Euclidean("auto")
    alpha = isinstance(metric, Monge) and isinstance(metric.alpha, str)
    if alpha:
        metric = Euclidean(metric.inverse_mass)
    base = getattr(metric, "inverse_mass", None)
    if not isinstance(base, Unknown):
        return metric, None, choose, alpha
    room = LowRank.identity(dimension, capacity(dimension, base.structure))
    return replace(metric, inverse_mass=room), base.structure, choose, alpha


def _trajectory(trajectory: Any, kernel: Kernel) -> tuple[Trajectory | None, bool, bool]:
    if not isinstance(trajectory, str):
        kernel.check(trajectory)
        return trajectory, False, False
    if trajectory not in get_args(TrajectoryName):
        raise SettingError(
            f"trajectory must be a trajectory or one of {get_args(TrajectoryName)}; it is {trajectory!r}."
        )
    candidates: dict[str, list[Any]] = {
        "auto": [NUTS(), Static(_FIRST_LENGTH, JITTER), None],
        "nuts": [NUTS()],
        "static": [Static(_FIRST_LENGTH, JITTER)],
    }
    first = _first_that_fits(candidates[trajectory], kernel)
    return first, trajectory != "nuts" and first is not None, isinstance(first, NUTS) and trajectory == "auto"


def _first_that_fits(candidates: list[Any], kernel: Kernel) -> Any:
    for candidate in candidates[:-1]:
        try:
            kernel.check(candidate)
        except SettingError:
            continue
        return candidate
    kernel.check(candidates[-1])
    return candidates[-1]
