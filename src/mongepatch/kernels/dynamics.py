"""The draw that all kernels share which follow an integrator: a fresh velocity, then a trajectory."""

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity, PRNGKey, Scalar
from mongepatch.integrators import Integrator, Phase
from mongepatch.kernels.base import Info, State, finish
from mongepatch.metrics import Metric, fitted, hamiltonian
from mongepatch.targets.layout import Layout
from mongepatch.trajectories import Dynamics, Outcome, Trajectory


def draw(
    key: PRNGKey,
    state: State,
    logdensity: LogDensity,
    metric: Metric,
    step_size: Scalar,
    trajectory: Trajectory,
    integrator: Integrator,
    length_key: PRNGKey | None,
    divergence_threshold: float,
) -> tuple[State, Info, Outcome]:
    """One draw: v ~ N(0, G⁻¹), and what the trajectory makes of it."""
    velocity_key, accept_key, own_length_key = jax.random.split(key, 3)
    start, layout = state.point, Layout.of(state.position)
    metric = fitted(metric, start.position)
    step_size = jnp.asarray(step_size, start.position.dtype)
    noise = jax.random.normal(velocity_key, start.position.shape, start.position.dtype)
    phase = Phase.start(start, metric.velocity_from_noise(start, noise))
    dynamics = Dynamics(lambda x: logdensity(layout.tree(x)), metric, integrator, step_size)
    outcome = trajectory.propose(
        accept_key, own_length_key if length_key is None else length_key, dynamics, phase, divergence_threshold
    )
    new, info = finish(
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
        extra=outcome.extra,
    )
    return new, info, outcome
