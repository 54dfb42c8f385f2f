"""What every metric answers, and the energies that follow from the answers.

A metric G(x) is used by integrators, trajectories and kernels through the protocol below and nothing else. Writing a
new one means writing one class; every sampler then works in it.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._linalg import dot
from mongepatch._typing import LogDensity, Scalar, ScalarLike, Vector
from mongepatch.errors import MetricError
from mongepatch.program import TracedFunction

Slope: TypeAlias = Any
"""How the geometry changes around a point. It may hold functions: it lives no longer than the computation at hand."""

Bend: TypeAlias = Any
"""How the geometry changes along one velocity: Hv for Monge, nothing for Euclidean. A pytree."""


class Point(Protocol):
    """All that a metric keeps about one position: a pytree, so that it can be carried, stacked and selected."""

    @property
    def position(self) -> Vector:
        """The flat position x."""

    @property
    def logdensity(self) -> Scalar:
        """ℓ(x)."""

    @property
    def gradient(self) -> Vector:
        """∇ℓ(x)."""


class Cost(NamedTuple):
    """Price of a metric in gradient-equivalents: a reverse-mode gradient is 1, a Hessian-vector product is 1."""

    point: int
    """Making a `Point` at a new position."""
    slope: int = 0
    """The slope at a position just visited."""
    revisit: int = 0
    """What the slope at a stored `Point` costs on top of that."""
    bend: int = 0
    """One bend, given the slope."""
    volume_bends: int = 0
    """How many further bends a kick makes to find its log-volume."""
    force: int = 0
    """One force, given the slope."""


@runtime_checkable
class Metric(Protocol):
    """A Riemannian metric G(x) on the parameter space.

    Metrics are pytrees: their numbers (α, the base metric) are traced, so changing them never recompiles. A `Point`
    belongs to the metric that made it and must be made anew when the metric's numbers change.
    """

    @property
    def alpha(self) -> Any:
        """The scale of the patch: 0 where the metric is flat, NaN where it has no such scale."""

    def cost(self, dimension: int) -> Cost:
        """What its operations cost in gradient-equivalents."""

    def check(self, dimension: int) -> None:
        """Raise `MetricError` if the metric cannot serve positions of this dimension."""

    def at(self, logdensity: LogDensity, position: Vector) -> tuple[Any, Slope]:
        """The geometry at a position: a `Point`, and its slope there.

        What is only needed for the slope should be computed for the slope alone: compiled code then leaves it out
        where nobody asks.
        """

    def log_det(self, point: Any) -> Scalar:
        """Log det G, twice the log of the volume element."""

    def momentum(self, point: Any, velocity: Vector) -> Vector:
        """G v."""

    def velocity(self, point: Any, momentum: Vector) -> Vector:
        """G⁻¹ p."""

    def velocity_from_noise(self, point: Any, noise: Vector) -> Vector:
        """A linear map that turns standard normal noise into a velocity drawn from N(0, G⁻¹)."""

    def bend(self, point: Any, slope: Slope, velocity: Vector) -> Bend:
        """What a kick needs to know of the metric's change along a velocity."""

    def kick(
        self, point: Any, slope: Slope, velocity: Vector, bend: Bend, length: ScalarLike
    ) -> tuple[Vector, Bend, Scalar]:
        """Change the velocity at fixed position for a time `length`, in one linearly implicit step.

        Solves (G + e Ω̃(v)) v′ = G v + e (∇ℓ − ½∇ log det G), where Ω̃ is G times the Christoffel symbols contracted
        with v. Returns v′, its bend and log|det ∂v′/∂v|. The kick from v′ with −e must give v back.
        """

    def force(self, point: Any, slope: Slope, velocity: Vector) -> Vector:
        """The rate of change of momentum, −∂/∂x of the Hamiltonian: ∇ℓ − ½∇ log det G + ½∇(vᵀGv) at fixed v."""


@runtime_checkable
class DriftingMetric(Metric, Protocol):
    """A metric in which a position does not move in a straight line between kicks.

    The kicks of such a metric make up for it: with them, steps approach the same motion. A metric without `drift` moves
    x to x + εv.
    """

    def drift(self, point: Any, velocity: Vector, length: ScalarLike) -> tuple[Vector, Vector]:
        """The position and the velocity after a time `length`.

        The drift from there with −`length` must lead back, and the volume of positions and velocities stay the same.
        """


_QUESTIONS = tuple(name for name in vars(Metric) if not name.startswith("_"))

M = TypeVar("M", bound=Metric)


def check_metric(metric: Any) -> None:
    """Raise unless this is a metric that kernels can use."""
    if isinstance(metric, type):
        raise MetricError(
            f"metric must be a metric, such as mp.Euclidean() or mp.Monge(1.0); {metric.__name__} is a class."
        )
    if isinstance(metric, jax.Array | np.ndarray):
        raise MetricError(
            "metric must be a metric, such as mp.Euclidean() or mp.Monge(1.0); it is an array. A constant metric is "
            "mp.Euclidean(inverse_mass), of the inverse of its matrix, or of its diagonal."
        )
    if not isinstance(metric, Metric) and callable(metric):
        name = getattr(metric, "__name__", "G")
        raise MetricError(
            "metric must be a metric, such as mp.Euclidean() or mp.Monge(1.0); it is a function. If it gives the "
            f"matrix G(x), write metric=mp.Dense({name if name.isidentifier() else 'G'})."
        )
    if not isinstance(metric, Metric):
        missing = sorted(name for name in _QUESTIONS if not hasattr(metric, name))
        raise MetricError(
            "metric must be a metric, such as mp.Euclidean() or mp.Monge(1.0); "
            f"it is {metric!r}, which lacks {', '.join(missing)}."
        )
    if jax.tree_util.all_leaves([metric]):
        raise MetricError(
            f"{type(metric).__name__} must be a pytree: decorate it with @jax.tree_util.register_dataclass."
        )


def fitted(metric: M, position: Vector | jax.ShapeDtypeStruct) -> M:
    """The metric with its dimension checked against a position and its numbers in the position's precision."""
    check_metric(metric)
    shape = jax.ShapeDtypeStruct(position.shape, position.dtype)

    def is_function(leaf: Any) -> bool:
        return isinstance(leaf, TracedFunction)

    # Functions come first: to trace and plan them takes time, and a check of one that is not would do so as well.
    metric = jax.tree.map(lambda leaf: leaf.traced(shape) if is_function(leaf) else leaf, metric, is_leaf=is_function)
    metric.check(position.size)

    def suit(leaf: Any) -> Any:
        if is_function(leaf) or (isinstance(leaf, jax.Array) and leaf.dtype == position.dtype and not leaf.weak_type):
            return leaf
        array = jnp.asarray(leaf)
        return array.astype(position.dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array

    suited: M = jax.tree.map(suit, metric, is_leaf=is_function)
    return suited


def drift(metric: Metric, point: Any, velocity: Vector, length: ScalarLike) -> tuple[Vector, Vector]:
    """The position and the velocity after a time `length` without kicks."""
    if isinstance(metric, DriftingMetric):
        return metric.drift(point, velocity, length)
    return point.position + length * velocity, velocity


def kinetic(metric: Metric, point: Any, velocity: Vector, momentum: Vector | None = None) -> Scalar:
    """½ vᵀGv, from the momentum Gv where that is known."""
    return 0.5 * dot(velocity, metric.momentum(point, velocity) if momentum is None else momentum)


def energy(metric: Metric, point: Any, velocity: Vector) -> Scalar:
    """E(x, v) = −ℓ − ½ log det G + ½ vᵀGv: minus the log of the joint density of position and *velocity*."""
    return kinetic(metric, point, velocity) - point.logdensity - 0.5 * metric.log_det(point)


def hamiltonian(metric: Metric, point: Any, velocity: Vector, momentum: Vector | None = None) -> Scalar:
    """−ℓ + ½ log det G + ½ vᵀGv: minus the log of the joint density of position and *momentum*.

    This is what the exact flow conserves. The momentum is Gv, where it is known.
    """
    return kinetic(metric, point, velocity, momentum) - point.logdensity + 0.5 * metric.log_det(point)
