"""The draw that all kernels share which follow an integrator: a fresh velocity, then a trajectory."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity, PRNGKey, Scalar
from mongepatch.integrators import Integrator, Phase
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD, Info, State, check_needs_trajectory, finish
from mongepatch.metrics import Metric, fitted, hamiltonian
from mongepatch.targets.layout import Layout
from mongepatch.trajectories import Dynamics, Outcome, Trajectory


class Following:
    """A kernel that follows an integrator along a trajectory: it says which one, and what it has to tell of its own."""

    name: ClassVar[str]

    def mover(self) -> Integrator:
        """The integrator."""
        raise NotImplementedError

    def extra(self, outcome: Outcome) -> dict[str, jax.Array]:
        """Variables of `sample_stats` that only this kernel has."""
        return {}

    def check(self, trajectory: Any) -> None:
        """Raise unless this is a trajectory."""
        check_needs_trajectory(self.name, trajectory)

    def step(
        self,
        key: PRNGKey,
        state: State,
        logdensity: LogDensity,
        metric: Metric,
        step_size: Scalar,
        trajectory: Trajectory,
        *,
        length_key: PRNGKey | None = None,
        divergence_threshold: float = DIVERGENCE_THRESHOLD,
    ) -> tuple[State, Info]:
        """One draw: v ~ N(0, G⁻¹), and what the trajectory makes of it."""
        velocity_key, accept_key, own_length_key = jax.random.split(key, 3)
        start, layout = state.point, Layout.of(state.position)
        metric = fitted(metric, start.position)
        step_size = jnp.asarray(step_size, start.position.dtype)
        noise = jax.random.normal(velocity_key, start.position.shape, start.position.dtype)
        phase = Phase.start(start, metric.velocity_from_noise(start, noise))
        dynamics = Dynamics(lambda x: logdensity(layout.tree(x)), metric, self.mover(), step_size)
        outcome = trajectory.propose(
            accept_key, own_length_key if length_key is None else length_key, dynamics, phase, divergence_threshold
        )
        return finish(
            layout,
            outcome.phase.point,
            metric,
            step_size,
            acceptance_rate=outcome.acceptance_rate,
            accepted=outcome.accepted,
            n_steps=outcome.n_steps,
            n_grad=outcome.n_grad,
            failure=outcome.failure,
            energy=hamiltonian(metric, outcome.phase.point, outcome.phase.velocity),
            log_ratio=outcome.log_ratio,
            log_volume=outcome.log_volume,
            extra={**outcome.extra, **self.extra(outcome)},
        )
