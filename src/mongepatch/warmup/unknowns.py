"""What users leave to warm-up, and what chains begin with in its place."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.chains import Settings
from mongepatch.errors import MetricError, SettingError
from mongepatch.kernels import Kernel
from mongepatch.metrics import Euclidean, Metric, Monge, Patch
from mongepatch.metrics.inverse_mass import Diagonal, Structure, Unknown
from mongepatch.metrics.low_rank import LowRank
from mongepatch.trajectories import NUTS, Static, Trajectory
from mongepatch.warmup.length import FIRST_LENGTH, JITTER, PATCH_LENGTHS
from mongepatch.warmup.mass import capacity

MetricName: TypeAlias = Literal["auto", "euclidean", "monge", "patch"]
TrajectoryName: TypeAlias = Literal["auto", "nuts", "static"]


class Unknowns(NamedTuple):
    """What warm-up has to find, besides the step size."""

    structure: Structure | None = None
    """Structure of the M⁻¹ to be found; None where it is given."""
    metric: bool = False
    """Whether to choose a metric: Euclidean, or Monge or a patch where trajectories diverge."""
    alpha: bool = False
    """Whether α is to be found in any case."""
    length: bool = False
    """Whether the length of static trajectories is to be found; where chains begin with NUTS, whether to use them."""
    residuals: Callable[[Vector], Vector] | None = None
    """What a patch could be made from."""

    @property
    def names(self) -> list[str]:
        """What users call them."""
        named = {"metric": self.metric, "alpha": self.alpha, "inverse_mass": self.structure, "trajectory": self.length}
        return [name for name, unknown in named.items() if unknown]


def begin(
    metric: Any,
    trajectory: Any,
    kernel: Kernel,
    dimension: int,
    residuals: Callable[[Vector], Vector] | None = None,
) -> tuple[Settings, Unknowns]:
    """Settings to begin with, and what is unknown about them."""
    choose = isinstance(metric, str) and metric == "auto"
    start, structure, alpha = _metric(_named(metric, residuals) if isinstance(metric, str) else metric, dimension)
    first, length = _trajectory(trajectory, kernel, patch=isinstance(start, Patch))
    return Settings(start, first), Unknowns(structure, choose, alpha, length, residuals)


def _named(name: str, residuals: Callable[[Vector], Vector] | None) -> Metric:
    """The metric that a name stands for."""
    if name not in get_args(MetricName):
        raise MetricError(f"metric must be a metric or one of {get_args(MetricName)}; it is {name!r}.")
    if name == "patch":
        if residuals is None:
            raise MetricError(
                'metric="patch" needs a residual map: give residuals=f, or a model by mp.from_numpyro, which has one.'
            )
        return Patch(residuals, "auto", "auto")
    return Monge("auto", "auto") if name == "monge" else Euclidean("auto")


def _metric(metric: Any, dimension: int) -> tuple[Metric, Structure | None, bool]:
    """The metric to begin with, the structure of its M where that is unknown, and whether its α is."""
    alpha = isinstance(metric, Monge | Patch) and isinstance(metric.alpha, str)
    if alpha:
        base = metric.inverse_mass
        metric = Euclidean(base) if isinstance(metric, Monge) else Patch(metric.residuals, 1.0, base)
    base = getattr(metric, "inverse_mass", None)
    if not isinstance(base, Unknown):
        return metric, None, alpha
    if isinstance(metric, Patch) and base.structure in ("auto", "diagonal"):
        room: Any = Diagonal(jnp.ones(dimension))
    else:
        room = LowRank.identity(dimension, capacity(dimension, base.structure))
    return replace(metric, inverse_mass=room), base.structure, alpha


def _trajectory(trajectory: Any, kernel: Kernel, patch: bool) -> tuple[Trajectory | None, bool]:
    """The trajectory to begin with, and whether its kind or length is unknown."""
    if not isinstance(trajectory, str):
        kernel.check(trajectory)
        return trajectory, False
    if trajectory not in get_args(TrajectoryName):
        raise SettingError(
            f"trajectory must be a trajectory or one of {get_args(TrajectoryName)}; it is {trajectory!r}."
        )
    nuts, static = NUTS(), Static(PATCH_LENGTHS[0] if patch else FIRST_LENGTH, JITTER)
    candidates: dict[str, list[Any]] = {
        "auto": [static, None] if patch else [nuts, static, None],
        "nuts": [nuts],
        "static": [static],
    }
    first = _first_that_fits(candidates[trajectory], kernel)
    return first, trajectory != "nuts" and first is not None


def _first_that_fits(candidates: list[Any], kernel: Kernel) -> Any:
    for candidate in candidates[:-1]:
        try:
            kernel.check(candidate)
        except SettingError:
            continue
        return candidate
    kernel.check(candidates[-1])
    return candidates[-1]
