"""What every trajectory gives: the next draw, out of the phases that an integrator can reach."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, CountLike, Flag, LogDensity, PRNGKey, Scalar, ScalarLike, Vector
from mongepatch.errors import SettingError
from mongepatch.integrators import Failure, Integrator, Phase
from mongepatch.metrics import Metric, hamiltonian


class Level(NamedTuple):
    """How probable a phase is, in two parts that are each nearly constant along a trajectory."""

    hamiltonian: Scalar
    volume: Scalar
    """Log-volume from the trajectory's start plus log det G: constant where the volume of momenta does not change."""

    def log_ratio(self, start: "Level") -> Scalar:
        """E₀ − E₁ + log-volume, grouped so that each bracket is small where its terms may be large."""
        return (start.hamiltonian - self.hamiltonian) + (self.volume - start.volume)


class Dynamics(NamedTuple):
    """All that decides where a start leads to."""

    logdensity: LogDensity
    metric: Metric
    integrator: Integrator
    step_size: Scalar

    def depart(self, start: Phase, direction: Any = 1) -> Any:
        """The integrator's node at a start, forwards or backwards in time."""
        return self.integrator.depart(self.logdensity, self.metric, start, direction * self.step_size)

    def advance(self, node: Any, direction: Any = 1) -> Any:
        """The integrator's next node."""
        return self.integrator.advance(self.logdensity, self.metric, node, direction * self.step_size)

    def run(self, start: Phase, num_steps: CountLike) -> Phase:
        """The end of a trajectory of this many steps."""
        return self.integrator.run(self.logdensity, self.metric, start, self.step_size, num_steps)

    def stretched(self, factor: ScalarLike) -> "Dynamics":
        """The same with steps that are longer by a factor, which does not depend on where chains are."""
        return self._replace(step_size=(factor * self.step_size).astype(self.step_size.dtype))

    def level(self, phase: Phase, momentum: Vector | None = None) -> Level:
        """How probable a phase is, with its momentum where that is known."""
        point, metric = phase.point, self.metric
        return Level(hamiltonian(metric, point, phase.velocity, momentum), phase.log_volume + metric.log_det(point))


class Transition(NamedTuple):
    """The draw that a trajectory ends in, and what there is to know about the way."""

    phase: Phase
    """The next draw, with its velocity; the start itself where nothing was accepted."""
    accepted: Flag
    """Whether the draw differs from the start."""
    acceptance_rate: Scalar
    """Probability of acceptance, averaged over what was proposed."""
    failure: Count
    """A `Failure`."""
    log_ratio: Scalar
    """Log of the acceptance ratio of the trajectory's end; for NUTS, of the draw."""
    log_volume: Scalar
    """Of the same."""
    n_steps: Count
    """Integration steps."""
    n_grad: Count
    """Gradient-equivalents."""
    extra: dict[str, jax.Array]
    """What only this kind of trajectory knows."""


@runtime_checkable
class Trajectory(Protocol):
    """How far to go before the next draw. A pytree."""

    def propose(
        self, key: PRNGKey, length_key: PRNGKey, dynamics: Dynamics, start: Phase, divergence_threshold: ScalarLike
    ) -> Transition:
        """The next draw.

        Args:
            key: randomness of this chain.
            length_key: randomness that chains in lockstep share, so that none waits for another's longer path.
            dynamics: where a start leads to.
            start: the last draw, with a fresh velocity.
            divergence_threshold: the energy error above which a trajectory counts as divergent.
        """


@runtime_checkable
class SteppedTrajectory(Trajectory, Protocol):
    """A trajectory that can also be followed one step at a time, so that chains need not wait for one another.

    Steps and randomness are those of `propose`. What there is between two steps is a pytree of the trajectory's own,
    with a method `replaced(condition, other)`, which is the other where the condition holds.
    """

    def begin(self, key: PRNGKey, dynamics: Dynamics, start: Phase, divergence_threshold: ScalarLike) -> Any:
        """The trajectory before its first step."""

    def goes_on(self, growing: Any, dynamics: Dynamics, divergence_threshold: ScalarLike) -> Flag:
        """Whether the trajectory has not ended."""

    def has_step(self, growing: Any, dynamics: Dynamics, divergence_threshold: ScalarLike) -> Flag:
        """Whether there is a step to make before the trajectory ends or turns."""

    def extend(self, growing: Any, dynamics: Dynamics, divergence_threshold: ScalarLike) -> Any:
        """The trajectory after one step; one without a step to make stays as it is."""

    def turn(self, growing: Any, dynamics: Dynamics, divergence_threshold: ScalarLike) -> Any:
        """What comes between steps, where a trajectory goes on but has no step to make; others stay as they are."""

    def finish(self, growing: Any) -> Transition:
        """The next draw, of a trajectory that has ended."""


def check_trajectory(trajectory: Any) -> None:
    """Raise unless this is a trajectory."""
    if isinstance(trajectory, type) or not isinstance(trajectory, Trajectory):
        raise SettingError(
            f"trajectory must be a trajectory, such as mp.Static(20) or mp.NUTS(); it is {trajectory!r}."
        )


def classify(log_ratio: Scalar, phase: Phase, diverged: Flag) -> Count:
    """What went wrong on the way to a phase, or with its energy: a `Failure`."""
    finite = jnp.isfinite(log_ratio) & jnp.isfinite(phase.point.logdensity)
    return phase.failed(~finite, Failure.NOT_FINITE).failed(diverged, Failure.ENERGY).failure
