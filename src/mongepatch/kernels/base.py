"""What every kernel gives: a state to go on from, and what there is to know about the draw."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

from mongepatch._typing import Count, Flag, PyTree, Scalar


class Failure(IntEnum):
    """What went wrong with a trajectory. Failures are data: nothing is raised and the chain goes on."""

    NONE = 0
    """Nothing."""
    NOT_FINITE = 1
    """The density, its derivatives or the energy became NaN or infinite on the way; the end was rejected."""
    ENERGY = 2
    """The energy error exceeded the divergence threshold: the step is too long for the curvature there."""


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
    """Probability with which the trajectory's end was accepted."""
    accepted: Flag
    """Whether it was."""
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


class Algorithm(NamedTuple):
    """A kernel with its settings filled in, as `blackjax.util.run_inference_algorithm` takes it."""

    init: Callable[..., State]
    """`init(position)` or `init(position, key)`: the state at a pytree of parameters."""
    step: Callable[..., tuple[State, Info]]
    """`step(key, state)`: the next state, and what there is to know about it."""
