"""Where chains start: dispersed, and only where the density and its geometry are finite."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._random import uniform_vector
from mongepatch._typing import LogDensity, Positions, PRNGKey, PyTree, Scalar, Vector
from mongepatch.chains import points_at
from mongepatch.coordinates import WhitenedDensity
from mongepatch.coordinates.batches import in_coordinates, in_model
from mongepatch.errors import LogDensityError, MetricError, ParameterError
from mongepatch.metrics import Euclidean, Metric
from mongepatch.program import jit
from mongepatch.sampling.initial_values import InitialValues, check_in_support
from mongepatch.sampling.proper import check_proper
from mongepatch.targets import Target

Proposal: TypeAlias = Callable[[PRNGKey, Any], Positions]

_SPREAD_FRACTIONS = (1.0, 0.5, 0.25, 0.1, 0.0)
"""How far from a given point to try, relative to the spread: nearer each time, at last the point itself."""
_START_ATTEMPTS = 100
"""How often a target that knows where to start is asked: some models have no finite density at most points."""


def initial_points(
    key: PRNGKey,
    target: Target,
    density: LogDensity,
    metric: Metric,
    init: InitialValues | None,
    chains: np.ndarray,
    *,
    spread: float,
    per_chain: bool,
) -> Any:
    """The metric's point where each chain starts: given by the user, around the user's, or of the target's own.

    Chains are given by their numbers, which decide where each starts.
    """
    if init is not None and init.values is not None:
        propose = _partly_around(target, init.values, spread, density, per_chain=per_chain)
        found = _dispersed(key, chains, propose, density, metric)
    elif per_chain and init is not None:
        found = _geometry(on_device(in_coordinates(np.asarray(init.position), density)), metric, density)
    elif init is not None:
        (center,) = in_coordinates(np.asarray(init.position)[None], density)
        found = _dispersed(key, chains, _around(on_device(center), spread), density, metric)
    elif target.start is not None:
        start = target.start
        fractions = (1.0,) * _START_ATTEMPTS
        found = _dispersed(key, chains, lambda keys, _: jax.vmap(start)(keys), density, metric, fractions)
    else:
        raise ParameterError("This target does not know where to start: give init, one point of its parameters.")
    _check_usable(found, density, target)
    check_proper(found.points, lambda positions: _geometry(positions, metric, density).points.logdensity, target)
    return found.points


def check_per_chain(init: PyTree, chains: int) -> None:
    """Raise unless there is a starting point for every chain along the leading axis of every array."""
    if init is None:
        raise ParameterError("init_per_chain=True needs init, with one starting point per chain.")
    for leaf in jax.tree.leaves(init):
        if np.shape(leaf)[:1] != (chains,):
            raise ParameterError(
                f"With init_per_chain=True every array of init must have a leading axis of length chains = {chains}; "
                f"there is one of shape {np.shape(leaf)}."
            )


class _Geometry(NamedTuple):
    """Points of all chains, and how the metric changes there."""

    points: Any
    bend: Any

    def usable(self) -> np.ndarray:
        """Which chains start where all of the geometry is finite."""
        return _finite((self.points, self.bend), len(self.points.logdensity))


def _geometry(positions: Positions, metric: Metric, density: LogDensity) -> _Geometry:
    if isinstance(metric, Euclidean):  # which never changes
        return _Geometry(points_at(positions, density, metric), None)
    return _changing_geometry(positions, metric, density)


@partial(jit, quick=True)
def _changing_geometry(positions: Positions, metric: Metric, density: LogDensity) -> _Geometry:
    def at(x: Vector) -> _Geometry:
        point, slope = metric.at(density, x)
        return _Geometry(point, metric.bend(point, slope, jnp.ones_like(x)))

    return jax.vmap(at)(positions)


def _around(center: Vector, spread: float) -> Proposal:
    """Propose points that are uniform within `spread` of a given one in every coordinate."""
    return lambda keys, fraction: _uniform_around(keys, center, on_device(fraction * spread, center.dtype))


@partial(jit, quick=True)
def _uniform_around(keys: PRNGKey, center: Vector, reach: Scalar) -> Positions:
    return jax.vmap(lambda key: center + reach * uniform_vector(key, center.size, center.dtype))(keys)


def _partly_around(
    target: Target, values: Mapping[str, Any], spread: float, density: LogDensity, *, per_chain: bool
) -> Proposal:
    """Propose the target's own points with some variables at, or around, given values; one for each chain, or one."""
    start, unconstrain, axis = target.start, target.unconstrain, 0 if per_chain else None
    assert start is not None and unconstrain is not None  # noqa: PT018  # or there would be no such values
    given = np.asarray(target.layout.mask(values))
    reach = 0.0 if per_chain else spread

    @partial(jit, quick=True)
    def around(keys: PRNGKey, values: Any, reach: Scalar) -> Positions:
        def shifted(key: PRNGKey, values: Any) -> Vector:
            position = unconstrain(values, start(key))
            offset = jax.random.uniform(jax.random.fold_in(key, 1), position.shape, position.dtype, -1.0, 1.0)
            return position + jnp.where(given, reach * offset, 0.0)

        return jax.vmap(shifted, (0, axis))(keys, values)

    def propose(keys: PRNGKey, fraction: Any) -> Positions:
        positions = np.asarray(around(keys, values, on_device(fraction * reach, jnp.result_type(float))))
        check_in_support(positions, target, values)
        return on_device(in_coordinates(positions, density))

    return propose


@partial(jit, quick=True)
def _chain_keys(key: PRNGKey, attempt: int, chains: jax.Array) -> PRNGKey:
    """Randomness of each chain."""
    return jax.vmap(jax.random.fold_in, (None, 0))(jax.random.fold_in(key, attempt), chains)


def _dispersed(
    key: PRNGKey,
    chains: np.ndarray,
    propose: Proposal,
    density: LogDensity,
    metric: Metric,
    fractions: Sequence[float] = _SPREAD_FRACTIONS,
) -> _Geometry:
    """A point for every chain; where a proposed one cannot be used, another is proposed."""
    positions, usable = None, np.zeros(chains.size, bool)
    numbers = on_device(chains, np.int32)
    for attempt, fraction in enumerate(fractions):
        proposed = propose(_chain_keys(key, attempt, numbers), fraction)
        positions = proposed if positions is None else jnp.where(usable[:, None], positions, proposed)
        found = _geometry(positions, metric, density)
        usable = found.usable()
        if usable.all():
            break
    return found


def _check_usable(found: _Geometry, density: LogDensity, target: Target) -> None:
    """Raise unless every chain can move away from where it starts, and say what is wrong."""
    points, usable = found.points, found.usable()
    values, gradients = np.asarray(points.logdensity), np.asarray(points.gradient)
    if not usable.all():
        where = "every starting point" if not usable.any() else f"{(~usable).sum()} of {usable.size} starting points"
        if not np.isfinite(values).all():
            bad = values[~np.isfinite(values)][0]
            reason = _reason(target, density, points.position[np.argmin(np.isfinite(values))])
            if reason:
                raise LogDensityError(f"The log density is {bad} at {where}. {reason}")
            raise LogDensityError(
                f"The log density is {bad} at {where}. Start where it is finite, or check its support: parameters "
                "that must be positive or bounded have to be transformed to the whole real line."
            )
        if np.isfinite(gradients).all() and not _finite(points, usable.size).all():
            raise MetricError(f"The metric is not positive definite at {where}.")
        what = "gradient" if not np.isfinite(gradients).all() else "curvature"
        raise LogDensityError(
            f"The log density is finite but its {what} is not at {where}. A common cause is jnp.where over a branch "
            "that overflows, or a square root or norm at exactly 0."
        )
    if not gradients.any():
        _check_slope(points.position[0], density)


def _reason(target: Target, density: LogDensity, position: Vector) -> str:
    """What the target says of a density that is not finite; nothing in whitened coordinates."""
    if target.explain is None or isinstance(density, WhitenedDensity):
        return ""
    return target.explain(on_device(in_model(np.asarray(position)[None], density)[0]))


def _check_slope(position: Vector, density: LogDensity) -> None:
    """Raise if the density changes around a point while its gradient is 0 all around: no mode looks like that."""
    nearby = position + jax.random.normal(jax.random.key(0), (16, position.size), position.dtype)
    values, gradients = map(np.asarray, jax.vmap(jax.value_and_grad(density))(nearby))
    inside = values[np.isfinite(values)]
    if gradients.any() or not inside.size:
        return
    if np.ptp(inside) > 0:
        raise LogDensityError(
            "The log density changes from point to point but its gradient is 0 everywhere: it is not differentiable. "
            "Look for rounding, casts to integers, or jax.lax.stop_gradient."
        )
    if inside.size < values.size:
        raise LogDensityError(
            "The log density is the same at all points near a starting point at which it is finite, and its gradient "
            "is 0: chains cannot see where its support ends. Transform parameters that are bounded, such as those of a "
            "uniform density, to the whole real line; or look for rounding and casts to integers."
        )


def _finite(tree: Any, chains: int) -> np.ndarray:
    """For which chains all arrays are finite."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    finite = [np.isfinite(leaf).reshape(chains, -1).all(axis=1) for leaf in leaves]
    return np.asarray(np.logical_and.reduce([np.ones(chains, bool), *finite]))
