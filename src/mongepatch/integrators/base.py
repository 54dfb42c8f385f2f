"""What every integrator gives: phases to go on from, and what went wrong on the way."""

from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, CountLike, LogDensity, Scalar, Vector
from mongepatch.metrics import Metric


class Failure(IntEnum):
    """What went wrong with a trajectory. Failures are data: nothing is raised and the chain goes on."""

    NONE = 0
    """Nothing."""
    NOT_FINITE = 1
    """The density, its derivatives or the energy became NaN or infinite on the way; the end was rejected."""
    ENERGY = 2
    """The energy error exceeded the divergence threshold: the step is too long for the curvature there."""
    NON_CONVERGENT = 3
    """An implicit step had no solution within its tolerance; the end was rejected."""
    NON_REVERSIBLE = 4
    """An implicit step did not lead back to where it came from; the end was rejected."""


class Phase(NamedTuple):
    """A position with its geometry, the velocity there, and what the way there has cost and changed."""

    point: Any
    """The metric's `Point`."""
    velocity: Vector
    """v."""
    log_volume: Scalar
    """log|det ∂(x, v)/∂(x₀, v₀)| from the start of the trajectory."""
    failure: Count
    """The first thing that went wrong on the way, a `Failure`; what comes after it means nothing."""
    n_grad: Count
    """Gradient-equivalents spent so far."""

    @classmethod
    def start(cls, point: Any, velocity: Vector) -> "Phase":
        """The first phase of a trajectory, before anything has changed."""
        return cls(
            point, velocity, jnp.zeros((), velocity.dtype), jnp.int8(Failure.NONE), jnp.zeros((), jnp.result_type(int))
        )

    def failed(self, condition: Any, failure: Failure) -> "Phase":
        """The phase with a failure noted where the condition holds, unless there was one before."""
        fresh = condition & (self.failure == Failure.NONE)
        return self._replace(failure=jnp.where(fresh, jnp.int8(failure), self.failure))

    def costing(self, n_grad: Any) -> "Phase":
        """The phase with more gradient-equivalents spent."""
        return self._replace(n_grad=self.n_grad + jnp.asarray(n_grad, self.n_grad.dtype))


class Node(Protocol):
    """A phase, and whatever an integrator wants to remember for the next step. A pytree."""

    @property
    def phase(self) -> Phase:
        """Where the trajectory is."""


class Integrator(Protocol):
    """A reversible map of positions and velocities that knows its volume change.

    Going back is going forward with −ε. Integrators are hashable, so that compiled code can be looked up by them.
    """

    def depart(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar) -> Any:
        """The `Node` to start from, in the direction of the step's sign."""

    def advance(self, logdensity: LogDensity, metric: Metric, node: Any, step_size: Scalar) -> Any:
        """The `Node` one step further. All of its phases are points of one orbit, wherever the start was."""

    def run(
        self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: CountLike
    ) -> Phase:
        """The end of a trajectory of `num_steps` ≥ 1 steps, which may be traced."""

    def path(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: int) -> Phase:
        """Every end: row n is the end of a trajectory of n steps, row 0 its start."""


def with_start(start: Phase, ends: Phase) -> Phase:
    """Rows of a path, from its start and its other rows."""
    rows: Phase = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, ends)
    return rows
