"""What every kernel does: from one point to the next, and what there is to know about the draw."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, Flag, LogDensity, PRNGKey, Scalar, ScalarLike
from mongepatch.errors import SettingError
from mongepatch.integrators import Failure, Lagrangian
from mongepatch.metrics import Metric, hamiltonian
from mongepatch.trajectories import Trajectory, Transition, check_trajectory

DIVERGENCE_THRESHOLD = 1000.0
"""The energy error above which a trajectory counts as divergent."""


class Setup(NamedTuple):
    """All that the next draw depends on, besides the last one and randomness."""

    logdensity: LogDensity
    """ℓ of a flat vector."""
    metric: Metric
    """The geometry, fitted to the dimension and precision of the vectors: see `mongepatch.metrics.fitted`."""
    step_size: Scalar
    """ε, in the precision of the vectors."""
    trajectory: Any
    """How far to go; None for kernels that make one step."""
    divergence_threshold: ScalarLike = DIVERGENCE_THRESHOLD
    """The energy error above which a trajectory counts as divergent."""


class Info(NamedTuple):
    """What there is to know about a draw; the fields are the variables of `sample_stats`."""

    lp: Scalar
    """Log density of the draw."""
    acceptance_rate: Scalar
    """Probability with which the proposal was accepted; for NUTS, averaged over its leaves."""
    accepted: Flag
    """Whether the draw is a new one."""
    step_size: Scalar
    """ε."""
    n_steps: Count
    """Integration steps."""
    n_grad: Count
    """Gradient-equivalents: gradients plus Hessian-vector products."""
    diverging: Flag
    """Whether the trajectory failed, for any reason."""
    failure: Count
    """The reason, a `Failure`."""
    energy: Scalar
    """The Hamiltonian at the draw, which the exact flow conserves; BFMI is computed from it."""
    energy_error: Scalar
    """The integrator's error: minus the log of the acceptance ratio, log-volume included."""
    alpha: Scalar
    """α of the metric."""
    log_volume: Scalar
    """Log of the volume change along the trajectory, in position and velocity."""
    extra: dict[str, jax.Array]
    """Further variables, which only this kernel or trajectory has: `tree_depth`, `non_convergent` and the like."""


@runtime_checkable
class Kernel(Protocol):
    """A way from one draw to the next, in flat vectors. Hashable, so that compiled code can be looked up by it."""

    @property
    def name(self) -> str:
        """What users call it."""

    def check(self, trajectory: Any) -> None:
        """Raise `SettingError` unless the kernel can use this trajectory; None where it takes none."""

    def step(self, key: PRNGKey, point: Any, setup: Setup, length_key: PRNGKey | None = None) -> Transition:
        """The transition to the next draw.

        Args:
            key: randomness of this draw.
            point: the last draw, a `Point` of the setup's metric.
            setup: density, metric, step size and trajectory.
            length_key: decides the number of steps, and their length, where chains that run in lockstep should all take
                the same; by default each chain decides for itself.
        """


@runtime_checkable
class SteppedKernel(Kernel, Protocol):
    """A kernel that can also make a draw one step at a time, along a `SteppedTrajectory`: the same draw as `step`."""

    def begin(self, key: PRNGKey, point: Any, setup: Setup) -> Any:
        """The draw before its first step."""

    def goes_on(self, growing: Any, setup: Setup) -> Flag:
        """Whether the draw is still to be made."""

    def has_step(self, growing: Any, setup: Setup) -> Flag:
        """Whether there is a step to make at once."""

    def extend(self, growing: Any, setup: Setup) -> Any:
        """One step; nothing where there is none to make."""

    def turn(self, growing: Any, setup: Setup) -> Any:
        """What comes between steps; nothing where there is a step to make, or the draw has been made."""

    def finish(self, growing: Any, setup: Setup) -> Transition:
        """The transition to the next draw, once there is no further step to make."""


def draw(kernel: Kernel, key: PRNGKey, point: Any, setup: Setup, length_key: PRNGKey | None = None) -> tuple[Any, Info]:
    """The point of the next draw, and what there is to know about it."""
    return drawn(kernel.step(key, point, setup, length_key), setup)


def drawn(made: Transition, setup: Setup) -> tuple[Any, Info]:
    """The point that a transition ends at, and what there is to know about the draw."""
    end, metric = made.phase.point, setup.metric
    broken = (made.failure != Failure.NONE) & (made.failure != Failure.ENERGY)
    info = Info(
        lp=end.logdensity,
        acceptance_rate=made.acceptance_rate,
        accepted=made.accepted,
        step_size=setup.step_size,
        n_steps=made.n_steps,
        n_grad=jnp.asarray(made.n_grad, jnp.result_type(int)),
        diverging=made.failure != Failure.NONE,
        failure=made.failure,
        energy=hamiltonian(metric, end, made.phase.velocity),
        energy_error=jnp.where(broken, jnp.nan, -made.log_ratio),
        alpha=jnp.asarray(metric.alpha, setup.step_size.dtype),
        log_volume=jnp.where(broken, jnp.nan, made.log_volume),
        extra=made.extra,
    )
    return end, info


def check_needs_trajectory(name: str, trajectory: Trajectory | None) -> None:
    """Raise unless there is a trajectory."""
    if trajectory is None:
        raise SettingError(f'The kernel "{name}" needs a trajectory, such as trajectory=mp.Static(20).')
    check_trajectory(trajectory)


def check_motion(kernel: Kernel, metric: Metric) -> None:
    """Raise unless the kernel follows the motion of a metric between kicks, where that is no straight line."""
    follows = isinstance(getattr(kernel, "integrator", None), Lagrangian)
    if getattr(metric, "center", None) is not None and not follows:
        raise SettingError(
            f'The kernel "{kernel.name}" does not turn positions around a center, only "lmc" does: leave center out of '
            'mp.Euclidean, or give kernel="lmc".'
        )
