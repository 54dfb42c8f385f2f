"""Where chains start: dispersed, and only where the density and its geometry are finite."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import PRNGKey, PyTree, Vector
from mongepatch.errors import LogDensityError, MetricError, ParameterError
from mongepatch.kernels import State
from mongepatch.kernels.base import init as init_state
from mongepatch.metrics import Metric
from mongepatch.program import Program, jit
from mongepatch.targets import Target

Proposal: TypeAlias = Callable[[PRNGKey, Any], Vector]

_SHARES = (1.0, 0.5, 0.25, 0.1, 0.0)
"""How far from a given point to try, relative to the spread: nearer each time, at last the point itself."""


def starting_states(
    key: PRNGKey,
    target: Target,
    density: Program,
    metric: Metric,
    init: PyTree,
    chains: int,
    *,
    spread: float,
    per_chain: bool,
) -> State:
    """A state for every chain, at points given by the user, around the user's, or of the target's own."""
    if per_chain:
        starts = _starts(jax.vmap(target.layout.flat)(init), metric, density)
    elif init is not None:
        starts = dispersed(key, chains, around(target.layout.flat(init), spread), density, metric)
    elif target.start is not None:
        start = target.start
        starts = dispersed(key, chains, lambda chain_key, _: start(chain_key), density, metric)
    else:
        raise ParameterError("This target does not know where to start: give init, one point of its parameters.")
    check_starts(starts, density)
    return starts.states


def around(center: Vector, spread: float) -> Proposal:
    """Propose points that are uniform within `spread` of a given one in every coordinate."""

    def propose(key: PRNGKey, share: Any) -> Vector:
        return center + share * spread * jax.random.uniform(key, center.shape, center.dtype, -1.0, 1.0)

    return propose


def dispersed(key: PRNGKey, chains: int, propose: Proposal, density: Program, metric: Metric) -> "Starts":
    """A state for every chain; where a proposed point cannot be used, another is proposed."""
    points, usable = None, np.zeros(chains, bool)
    for attempt, share in enumerate(_SHARES):
        keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.fold_in(key, attempt), jnp.arange(chains))
        proposed = jax.vmap(propose, (0, None))(keys, share)
        points = proposed if points is None else jnp.where(usable[:, None], points, proposed)
        starts = _starts(points, metric, density)
        usable = _usable(starts)
        if usable.all():
            break
    return starts


def check_per_chain(init: PyTree, chains: int) -> None:
    """Raise unless there is a starting point for every chain along the leading axis of every array."""
    if init is None:
        raise ParameterError("init_per_chain=True needs init, with one starting point a chain.")
    for leaf in jax.tree.leaves(init):
        if np.shape(leaf)[:1] != (chains,):
            raise ParameterError(
                f"With init_per_chain=True every array of init must have a leading axis of length chains = {chains}; "
                f"there is one of shape {np.shape(leaf)}."
            )


def check_starts(starts: "Starts", density: Program) -> None:
    """Raise unless every chain can move away from where it starts, and say what is wrong."""
    states, usable = starts.states, _usable(starts)
    values, gradients = states.logdensity, states.point.gradient
    if not usable.all():
        where = "every starting point" if not usable.any() else f"{(~usable).sum()} of {usable.size} starting points"
        if not np.isfinite(values).all():
            bad = values[~np.isfinite(values)][0]
            raise LogDensityError(
                f"The log density is {bad} at {where}. Start where it is finite, or check its support: parameters "
                "that must be positive or bounded have to be transformed to the whole real line."
            )
        if np.isfinite(gradients).all() and not _finite(states.point, usable.size).all():
            raise MetricError(f"The metric is not positive definite at {where}.")
        what = "gradient" if not np.isfinite(gradients).all() else "curvature"
        raise LogDensityError(
            f"The log density is finite but its {what} is not at {where}. A common cause is jnp.where over a branch "
            "that overflows, or a square root or norm at exactly 0."
        )
    if not gradients.any():
        _check_slope(states.point.position[0], density)


def _check_slope(point: Vector, density: Program) -> None:
    """Raise if the density changes around a point while its gradient is 0 all around: no mode looks like that."""
    nearby = point + jax.random.normal(jax.random.key(0), (16, point.size), point.dtype)
    values, gradients = jax.vmap(jax.value_and_grad(density))(nearby)
    if not gradients.any() and np.ptp(values) > 0:
        raise LogDensityError(
            "The log density changes from point to point but its gradient is 0 everywhere: it is not differentiable. "
            "Look for rounding, casts to whole numbers, or jax.lax.stop_gradient."
        )


class Starts(NamedTuple):
    """States of all chains, and how the geometry changes where they are."""

    states: State
    bend: Any


@jit
def _starts(points: jax.Array, metric: Metric, density: Program) -> Starts:
    def start(x: Vector) -> Starts:
        point, slope = metric.at(density, x)
        return Starts(init_state(x, density, metric), metric.bend(point, slope, jnp.ones_like(x)))

    return jax.vmap(start)(points)


def _finite(tree: Any, chains: int) -> np.ndarray:
    """For which chains all arrays are finite."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    finite = [np.isfinite(leaf).reshape(chains, -1).all(axis=1) for leaf in leaves]
    return np.asarray(np.logical_and.reduce([np.ones(chains, bool), *finite]))


def _usable(starts: Starts) -> np.ndarray:
    """Which chains start where all of the geometry is finite."""
    return _finite((starts.states.point, starts.bend), len(starts.states.logdensity))
