"""What kernels share that draw a velocity and follow an integrator along a trajectory."""

from typing import Any, ClassVar

import jax

from mongepatch._random import normal_vector
from mongepatch._typing import PRNGKey
from mongepatch.integrators import Integrator, Phase
from mongepatch.kernels.base import Setup, check_needs_trajectory
from mongepatch.trajectories import Dynamics, Transition


class TrajectoryKernel:
    """A kernel that draws v ~ N(0, G⁻¹) and follows an integrator along a trajectory.

    A kernel of this kind says which integrator it follows, and which statistics of its own it has.
    """

    name: ClassVar[str]
    integrator: Any
    """An `Integrator`."""

    def statistics(self, transition: Transition) -> dict[str, jax.Array]:
        """Variables of `sample_stats` that only this kernel has."""
        return {}

    def check(self, trajectory: Any) -> None:
        """Raise unless this is a trajectory."""
        check_needs_trajectory(self.name, trajectory)

    def step(self, key: PRNGKey, point: Any, setup: Setup, length_key: PRNGKey | None = None) -> Transition:
        """One draw: a fresh velocity, then the trajectory's choice among the phases that it reaches."""
        velocity_key, accept_key, own_length_key = jax.random.split(key, 3)
        noise = normal_vector(velocity_key, point.position.size, point.position.dtype)
        start = Phase.start(point, setup.metric.velocity_from_noise(point, noise))
        integrator: Integrator = self.integrator
        made: Transition = setup.trajectory.propose(
            accept_key,
            own_length_key if length_key is None else length_key,
            Dynamics(setup.logdensity, setup.metric, integrator, setup.step_size),
            start,
            setup.divergence_threshold,
        )
        return made._replace(extra={**made.extra, **self.statistics(made)})
