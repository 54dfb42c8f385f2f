"""What kernels share that draw a velocity and follow an integrator along a trajectory."""

from typing import Any, ClassVar

import jax

from mongepatch._random import normal_vector
from mongepatch._typing import Flag, PRNGKey
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
        start, accept_key, own_length_key = _start(key, point, setup)
        made: Transition = setup.trajectory.propose(
            accept_key,
            own_length_key if length_key is None else length_key,
            self._dynamics(setup),
            start,
            setup.divergence_threshold,
        )
        return self._with_statistics(made)

    def begin(self, key: PRNGKey, point: Any, setup: Setup) -> Any:
        """The same draw before the first step of its trajectory, a `SteppedTrajectory`."""
        start, accept_key, _ = _start(key, point, setup)
        return setup.trajectory.begin(accept_key, self._dynamics(setup), start, setup.divergence_threshold)

    def goes_on(self, growing: Any, setup: Setup) -> Flag:
        """Whether the draw is still to be made."""
        going: Flag = setup.trajectory.goes_on(growing, self._dynamics(setup), setup.divergence_threshold)
        return going

    def has_step(self, growing: Any, setup: Setup) -> Flag:
        """Whether there is a step to make at once."""
        has: Flag = setup.trajectory.has_step(growing, self._dynamics(setup), setup.divergence_threshold)
        return has

    def extend(self, growing: Any, setup: Setup) -> Any:
        """One step."""
        return setup.trajectory.extend(growing, self._dynamics(setup), setup.divergence_threshold)

    def turn(self, growing: Any, setup: Setup) -> Any:
        """What comes between steps, where the trajectory goes on."""
        return setup.trajectory.turn(growing, self._dynamics(setup), setup.divergence_threshold)

    def finish(self, growing: Any, setup: Setup) -> Transition:
        """The draw, once there is no further step to make."""
        return self._with_statistics(setup.trajectory.finish(growing))

    def _dynamics(self, setup: Setup) -> Dynamics:
        integrator: Integrator = self.integrator
        return Dynamics(setup.logdensity, setup.metric, integrator, setup.step_size)

    def _with_statistics(self, made: Transition) -> Transition:
        return made._replace(extra={**made.extra, **self.statistics(made)})


def _start(key: PRNGKey, point: Any, setup: Setup) -> tuple[Phase, PRNGKey, PRNGKey]:
    """The point with a fresh velocity, and the keys of acceptance and length."""
    velocity_key, accept_key, length_key = jax.random.split(key, 3)
    noise = normal_vector(velocity_key, point.position.size, point.position.dtype)
    return Phase.start(point, setup.metric.velocity_from_noise(point, noise)), accept_key, length_key
