"""Trajectories as data, for looking at dynamics rather than sampling with them."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._keywords import checked_keywords
from mongepatch._typing import LogDensity, Scalar, Vector
from mongepatch.errors import ParameterError, SettingError
from mongepatch.integrators.base import Integrator, Phase
from mongepatch.integrators.lagrangian import Lagrangian
from mongepatch.metrics import Metric, check_answers, energy, fitted, hamiltonian
from mongepatch.program import Program, jit, trace_density
from mongepatch.validation import real_number, whole_number


class Path(NamedTuple):
    """Every point of a trajectory, in flat coordinates: row n is the end of a trajectory of n steps.

    For steps that are short enough `energy − log_volume` and `hamiltonian` stay nearly constant, with an error of order
    ε²; the first is what acceptance is decided by.
    """

    position: jax.Array
    """x, of shape (num_steps + 1, D)."""
    velocity: jax.Array
    """v, of shape (num_steps + 1, D)."""
    energy: jax.Array
    """E(x, v) = −ℓ − ½ log det G + ½ vᵀGv."""
    log_volume: jax.Array
    """log|det ∂(x, v)/∂(x₀, v₀)|."""
    hamiltonian: jax.Array
    """−ℓ + ½ log det G + ½ vᵀGv."""
    failure: jax.Array
    """The first thing that went wrong on the way, a `Failure`."""


@checked_keywords
def integrate(
    logdensity: LogDensity,
    metric: Metric,
    position: Any,
    velocity: Any,
    step_size: Any,
    num_steps: int,
    *,
    integrator: Integrator = Lagrangian(),  # noqa: B008  # immutable
) -> Path:
    """Follow the dynamics in any metric from a given position and velocity.

    Args:
        logdensity: log density of a flat vector; a `Target` will do.
        metric: the geometry to move in.
        position: where to start, of shape (D,).
        velocity: how to start, of shape (D,).
        step_size: ε; a negative one goes back in time.
        num_steps: how many steps.
        integrator: how to step; `integrators.Lagrangian("paper")` for the paper's scheme, or an implicit one.

    Returns:
        A `Path` of num_steps + 1 points.

    Example:
        >>> path = mp.integrate(mp.targets.ring(), mp.Monge(1.0), [12.0, 0.0], [0.0, 1.0], step_size=0.03, num_steps=50)
        >>> path.position.shape
        (51, 2)
    """
    try:
        position = jnp.asarray(position, jnp.result_type(float))
        velocity = jnp.asarray(velocity, position.dtype)
    except (TypeError, ValueError) as error:
        raise ParameterError("position and velocity must be flat vectors, and logdensity a function of one.") from error
    if position.ndim != 1 or velocity.shape != position.shape:
        raise ParameterError(
            "position and velocity must be flat vectors of one length; "
            f"their shapes are {position.shape} and {velocity.shape}."
        )
    if isinstance(integrator, type) or not hasattr(integrator, "path"):
        raise SettingError(f'integrator must be one, such as mp.integrators.Lagrangian("paper"); it is {integrator!r}.')
    num_steps = whole_number("num_steps", num_steps)
    program = trace_density(logdensity, jax.ShapeDtypeStruct(position.shape, position.dtype))
    step_size = real_number("step_size", step_size).astype(position.dtype)
    metric = fitted(metric, position)
    check_answers(metric, position)
    return _follow(program, metric, position, velocity, step_size, integrator=integrator, n=num_steps)


@partial(jit, static_argnames=("integrator", "n"))
def _follow(
    logdensity: Program,
    metric: Metric,
    position: Vector,
    velocity: Vector,
    step_size: Scalar,
    *,
    integrator: Integrator,
    n: int,
) -> Path:
    point, _ = metric.at(logdensity, position)
    rows = integrator.path(logdensity, metric, Phase.start(point, velocity), step_size, n)
    return Path(
        rows.point.position,
        rows.velocity,
        jax.vmap(lambda phase: energy(metric, phase.point, phase.velocity))(rows),
        rows.log_volume,
        jax.vmap(lambda phase: hamiltonian(metric, phase.point, phase.velocity))(rows),
        rows.failure,
    )
