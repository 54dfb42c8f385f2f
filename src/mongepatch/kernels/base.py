"""What every kernel gives: a state to go on from, and what there is to know about the draw."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from mongepatch._pytree import is_concrete
from mongepatch._typing import Count, Flag, LogDensity, PRNGKey, PyTree, Scalar, Vector
from mongepatch.errors import LogDensityError, MetricError, SettingError
from mongepatch.integrators import Failure
from mongepatch.metrics import Metric, check_metric, fitted
from mongepatch.program import check_density
from mongepatch.targets.base import Target
from mongepatch.targets.layout import Layout
from mongepatch.trajectories import Trajectory, check_trajectory
from mongepatch.validation import positive_number

DIVERGENCE_THRESHOLD = 1000.0
"""The energy error above which a trajectory counts as divergent."""


class State(NamedTuple):
    """What the next draw needs."""

    position: PyTree
    """The draw, as the user writes parameters."""
    logdensity: Scalar
    """ℓ at the draw."""
    point: Any
    """The metric's geometry at the flat position; belongs to the metric that made it."""


class Info(NamedTuple):
    """What there is to know about a draw; the fields are the variables of `sample_stats`."""

    lp: Scalar
    """Log density of the draw."""
    acceptance_rate: Scalar
    """Probability with which what was proposed was accepted; for NUTS, averaged over its leaves."""
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
    """The Hamiltonian at the draw, which the exact flow conserves; what BFMI is computed from."""
    energy_error: Scalar
    """What the integrator got wrong: minus the log of the acceptance ratio, log-volume included."""
    alpha: Scalar
    """α of the metric."""
    log_volume: Scalar
    """Log of the volume change along the trajectory, in position and velocity."""
    extra: dict[str, jax.Array]
    """Further variables, which only this kernel or trajectory has: `tree_depth`, `non_convergent` and the like."""


class Algorithm(NamedTuple):
    """A kernel with its settings filled in, as `blackjax.util.run_inference_algorithm` takes it."""

    init: Callable[..., State]
    """`init(position)` or `init(position, key)`: the state at a pytree of parameters."""
    step: Callable[..., tuple[State, Info]]
    """`step(key, state)`: the next state, and what there is to know about it."""


@runtime_checkable
class Kernel(Protocol):
    """A way from one draw to the next. Hashable, so that compiled code can be looked up by it."""

    @property
    def name(self) -> str:
        """What users call it."""

    def check(self, trajectory: Any) -> None:
        """Raise `SettingError` unless the kernel can use this trajectory; None where it takes none."""

    def step(
        self,
        key: PRNGKey,
        state: State,
        logdensity: LogDensity,
        metric: Metric,
        step_size: Scalar,
        trajectory: Any,
        *,
        length_key: PRNGKey | None = None,
        divergence_threshold: float = DIVERGENCE_THRESHOLD,
    ) -> tuple[State, Info]:
        """One draw.

        Args:
            key: randomness of this draw.
            state: the last draw.
            logdensity: log density of a position as the state holds it.
            metric: the geometry; the one that made the state.
            step_size: ε.
            trajectory: how far to go.
            length_key: decides the number of steps, where chains that run in lockstep should all take the same; by
                default each chain decides for itself.
            divergence_threshold: the energy error above which a trajectory counts as divergent.
        """


def init(position: PyTree, logdensity: LogDensity, metric: Metric) -> State:
    """The state at a pytree of parameters."""
    layout = Layout.of(position)
    flat = layout.flat(position)

    def density(x: Vector) -> Scalar:
        return logdensity(layout.tree(x))

    check_density(density, flat)
    point, _ = fitted(metric, flat).at(density, flat)
    return State(layout.tree(flat), point.logdensity, point)


def finish(
    layout: Layout,
    point: Any,
    metric: Metric,
    step_size: Scalar,
    *,
    acceptance_rate: Scalar,
    accepted: Flag,
    n_steps: Count,
    n_grad: Any,
    failure: Count,
    energy: Scalar,
    log_ratio: Scalar,
    log_volume: Scalar,
    extra: dict[str, jax.Array],
) -> tuple[State, Info]:
    """The state and info of a draw that ends at a point."""
    broken = (failure != Failure.NONE) & (failure != Failure.ENERGY)
    info = Info(
        lp=point.logdensity,
        acceptance_rate=acceptance_rate,
        accepted=accepted,
        step_size=step_size,
        n_steps=n_steps,
        n_grad=jnp.asarray(n_grad, jnp.result_type(int)),
        diverging=failure != Failure.NONE,
        failure=failure,
        energy=energy,
        energy_error=jnp.where(broken, jnp.nan, -log_ratio),
        alpha=jnp.asarray(metric.alpha, step_size.dtype),
        log_volume=jnp.where(broken, jnp.nan, log_volume),
        extra=extra,
    )
    return State(layout.tree(point.position), point.logdensity, point), info


def check_needs_trajectory(name: str, trajectory: Any) -> None:
    """Raise unless there is a trajectory."""
    if trajectory is None:
        raise SettingError(f'The kernel "{name}" needs a trajectory, such as trajectory=mp.Static(20).')
    check_trajectory(trajectory)


def algorithm(
    kernel: Kernel,
    logdensity: LogDensity,
    metric: Metric,
    step_size: Any,
    trajectory: Trajectory | None,
    divergence_threshold: float = DIVERGENCE_THRESHOLD,
) -> Algorithm:
    """A kernel with its settings filled in."""
    step_size = positive_number("step_size", step_size)
    positive_number("divergence_threshold", divergence_threshold)
    kernel.check(trajectory)
    check_metric(metric)

    def init_fn(position: PyTree, rng_key: PRNGKey | None = None) -> State:
        if isinstance(logdensity, Target):
            position = logdensity.layout.flat(position)
        state = init(position, logdensity, metric)
        if is_concrete(state.logdensity) and not jnp.isfinite(state.logdensity):
            raise LogDensityError(
                f"The log density is {state.logdensity} at the starting point: a chain cannot leave it."
            )
        if is_concrete(state.logdensity) and not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state.point)):
            raise MetricError(
                "At the starting point the metric is not positive definite, or the density has no finite derivative."
            )
        return state

    def step_fn(rng_key: PRNGKey, state: State) -> tuple[State, Info]:
        return kernel.step(
            rng_key, state, logdensity, metric, step_size, trajectory, divergence_threshold=divergence_threshold
        )

    return Algorithm(init_fn, step_fn)
