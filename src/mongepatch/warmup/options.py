"""Options of `sample` that may be given by name, what they leave to warm-up, and how warm-up treats each metric."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._auto import ToBeFound
from mongepatch._keywords import did_you_mean
from mongepatch._typing import AnyVector, Vector
from mongepatch.chains import Tuning
from mongepatch.coordinates import Whitening
from mongepatch.errors import MetricError, SettingError
from mongepatch.integrators import Scheme
from mongepatch.kernels import LMC, MMALA, RMHMC, ExplicitRMHMC, Kernel, check_motion
from mongepatch.kernels.trajectory_kernel import TrajectoryKernel
from mongepatch.metrics import Euclidean, Metric, Monge, Patch
from mongepatch.metrics.inverse_mass import Structure
from mongepatch.trajectories import NUTS, NUTSOrStatic, Static, Trajectory
from mongepatch.warmup.inverse_mass import initial_inverse_mass

MetricName: TypeAlias = Literal["auto", "euclidean", "monge", "patch"]
TrajectoryName: TypeAlias = Literal["auto", "nuts", "static"]
KernelName: TypeAlias = Literal["lmc", "rmhmc", "explicit-rmhmc", "mmala"]
ResidualMap: TypeAlias = Callable[[Vector], AnyVector]

CAREFUL_ACCEPTANCE = 0.9
"""The acceptance rate to adapt to where some places are too stiff for usual steps, and no other metric is chosen."""

KERNELS: dict[str, Callable[[], Kernel]] = {kind.name: kind for kind in (LMC, RMHMC, ExplicitRMHMC, MMALA)}
"""Every kernel by its name."""
_OTHER_OPTIONS = {
    "nuts": 'NUTS is trajectory="nuts".',
    "static": 'Static trajectories are trajectory="static".',
    "hmc": 'HMC is metric="euclidean" with trajectory="static".',
    "dense": 'A dense mass matrix is metric=mp.Euclidean("dense").',
    "diag": 'A diagonal mass matrix is metric=mp.Euclidean("diagonal").',
    "fisher": "Give mp.Fisher(...), which needs the information of your model.",
    "softabs": "Give mp.SoftAbs(kappa).",
    "mala": 'MALA in a metric is kernel="mmala".',
    "lmc": 'LMC is kernel="lmc", the default.',
    "rmhmc": 'Riemannian HMC is kernel="rmhmc".',
}
"""What others write in the place of a metric, trajectory or kernel."""


class Policy(NamedTuple):
    """How warm-up treats a metric."""

    target_acceptance: float
    """The acceptance rate to adapt the step size to."""
    static_acceptance: float
    """The same for static trajectories: a rejected one repeats a draw, where NUTS chooses among many."""
    jitter: float
    """Of static trajectories whose length is found, so that no direction's period is met for long."""
    lengths: tuple[int, ...]
    """Longest static trajectories that are tried, in steps."""
    first_length: int
    """The same before a length is known."""
    begins_with_nuts: bool
    """Whether trajectory="auto" begins with NUTS."""
    base_from_variances: bool
    """Whether M is estimated from the variances of draws alone, rather than from draws and gradients."""


_POLICIES: dict[type, Policy] = {
    # A few draws on a hard density cannot tell that trajectories are too short for it: none is shorter than what suits
    # most. Small models give about as many effective draws per second at 12 steps as at 28; a hundred groups give half
    # as many again at 20 as at 12. `python -m benchmarks lengths` measures it.
    Patch: Policy(0.9, 0.9, 1.0, (20, 40), 20, begins_with_nuts=False, base_from_variances=True),
}
_OTHERS = Policy(
    target_acceptance=0.8,
    static_acceptance=0.9,
    jitter=0.5,
    lengths=(1, *sorted({factor * 2**k for factor in (2, 3) for k in range(9)})),
    first_length=8,
    begins_with_nuts=True,
    base_from_variances=False,
)


def policy_of(metric: Metric) -> Policy:
    """How warm-up treats this metric."""
    return next((policy for kind, policy in _POLICIES.items() if isinstance(metric, kind)), _OTHERS)


DEFAULT_ACCEPTANCE = _OTHERS.target_acceptance
"""The acceptance rate to adapt to, unless the metric's policy or the user says otherwise."""


class ToFind(NamedTuple):
    """What warm-up has to find, besides the step size."""

    inverse_mass: Structure | None = None
    """Structure of the M⁻¹ to be found; None where it is given."""
    metric: bool = False
    """Whether to choose a metric: Euclidean, or the Monge metric or a patch where they pay."""
    alpha: bool = False
    """Whether α is to be found in any case."""
    trajectory: bool = False
    """Whether the length of static trajectories is to be found; where chains begin with NUTS, whether to use them."""
    residuals: ResidualMap | None = None
    """What a patch could be made from."""
    whitening: Whitening | None = None
    """The whitened coordinates that chains move in, whose information is to be found; None where they do not."""

    @property
    def names(self) -> list[str]:
        """What users call them."""
        open_ = {
            "metric": self.metric,
            "alpha": self.alpha,
            "inverse_mass": self.inverse_mass,
            "trajectory": self.trajectory,
        }
        return [name for name, unknown in open_.items() if unknown]


def parse_kernel(kernel: Any, scheme: Scheme | None) -> Kernel:
    """The kernel of a name, or one that is given; the scheme belongs to LMC."""
    if scheme is not None:
        if kernel not in ("lmc", LMC()):
            raise SettingError(f'scheme is a setting of the kernel "lmc"; the kernel is {kernel!r}.')
        return LMC(scheme)
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    if isinstance(kernel, Kernel) and not isinstance(kernel, type):
        return kernel
    raise SettingError(
        f"kernel must be one of {get_args(KernelName)} or a kernel; it is {kernel!r}."
        + did_you_mean(kernel, get_args(KernelName), _OTHER_OPTIONS)
    )


def takes_residuals(metric: Any) -> bool:
    """Whether a metric that is given as an option may become a patch of a target's residuals."""
    return isinstance(metric, str) and metric in ("auto", "patch")


def parse_tuning(
    metric: Any,
    trajectory: Any,
    kernel: Kernel,
    dimension: int,
    residuals: ResidualMap | None = None,
    *,
    whitening: Whitening | None = None,
    in_lockstep: bool = True,
) -> tuple[Tuning, ToFind]:
    """Tuning parameters to begin with, and what is to be found about them.

    Few chains, which go in lockstep, can change from NUTS to static trajectories without another program.
    """
    choose = isinstance(metric, str) and metric == "auto"
    named = _metric_of_name(metric, residuals) if isinstance(metric, str) else metric
    check_motion(kernel, named)
    first_metric, structure, alpha = _begin_metric(named, dimension)
    first_trajectory, length = _begin_trajectory(trajectory, kernel, policy_of(first_metric))
    if length and isinstance(first_trajectory, NUTS) and isinstance(first_metric, Euclidean):
        if isinstance(kernel, LMC) and structure is not None:
            first_metric = _with_room_for_center(first_metric, dimension)
        if isinstance(kernel, TrajectoryKernel) and in_lockstep:
            first_trajectory = NUTSOrStatic.trees(first_trajectory)
    return Tuning(first_metric, first_trajectory), ToFind(structure, choose, alpha, length, residuals, whitening)


def _metric_of_name(name: str, residuals: ResidualMap | None) -> Metric:
    """The metric that a name stands for."""
    if name not in get_args(MetricName):
        raise MetricError(
            f"metric must be a metric or one of {get_args(MetricName)}; it is {name!r}."
            + did_you_mean(name, get_args(MetricName), _OTHER_OPTIONS)
        )
    if name == "patch":
        if residuals is None:
            raise MetricError(
                'metric="patch" needs a residual map: give residuals=f, or a model by mp.from_numpyro or mp.from_pymc, '
                "which has one."
            )
        return Patch(residuals, "auto", "auto")
    return Monge("auto", "auto") if name == "monge" else Euclidean("auto")


def _begin_metric(metric: Any, dimension: int) -> tuple[Metric, Structure | None, bool]:
    """The metric to begin with, the structure of its M where that is to be found, and whether its α is."""
    alpha = isinstance(getattr(metric, "alpha", None), ToBeFound)
    if alpha:
        base = metric.inverse_mass
        metric = Euclidean(base) if isinstance(metric, Monge) else replace(metric, alpha=1.0)
    base = getattr(metric, "inverse_mass", None)
    if not isinstance(base, ToBeFound):
        return metric, None, alpha
    structure: Any = base.choice
    identity = initial_inverse_mass(dimension, structure, from_variances=policy_of(metric).base_from_variances)
    return replace(metric, inverse_mass=identity), structure, alpha


def _with_room_for_center(metric: Euclidean, dimension: int) -> Euclidean:
    """Leapfrog steps, by a program that can also turn x and v around a center, which is to be found with M."""
    return replace(metric, center=on_device(np.zeros(dimension), jnp.result_type(float)), frequency=on_device(0.0))


def _begin_trajectory(trajectory: Any, kernel: Kernel, policy: Policy) -> tuple[Trajectory | None, bool]:
    """The trajectory to begin with, and whether its kind or length is to be found."""
    if not isinstance(trajectory, str):
        kernel.check(trajectory)
        return trajectory, False
    if trajectory not in get_args(TrajectoryName):
        raise SettingError(
            f"trajectory must be a trajectory or one of {get_args(TrajectoryName)}; it is {trajectory!r}."
            + did_you_mean(trajectory, get_args(TrajectoryName), _OTHER_OPTIONS)
        )
    nuts, static = NUTS(), Static(policy.first_length, policy.jitter)
    candidates: dict[str, list[Any]] = {
        "auto": [nuts, static, None] if policy.begins_with_nuts else [static, None],
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
