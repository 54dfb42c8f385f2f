"""What every metric answers, and the energies that follow from the answers.

A metric G(x) is used by integrators, trajectories and kernels through the protocol below and nothing else. Writing a
new one means writing one class; every sampler then works in it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity, Scalar, Vector
from mongepatch.errors import MetricError

Bend: TypeAlias = Any
"""What a metric needs to know of its own rate of change along a velocity: Hv for Monge, nothing for Euclidean."""


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
    bend: int
    """One bend at a position just visited."""
    revisit: int
    """Being ready to make bends at a stored `Point` (a fresh linearisation)."""


@runtime_checkable
class Metric(Protocol):
    """A Riemannian metric G(x) on the parameter space.

    Metrics are pytrees: their numbers (α, the base metric) are traced, so changing them never recompiles. A `Point`
    belongs to the metric that made it and must be made anew when the metric's numbers change.
    """

    @property
    def cost(self) -> Cost:
        """What its operations cost in gradient-equivalents."""

    @property
    def alpha(self) -> Any:
        """The scale of the patch; 0 where the metric is flat."""

    def check(self, dimension: int) -> None:
        """Raise `MetricError` if the metric cannot serve positions of this dimension."""

    def at(self, logdensity: LogDensity, position: Vector) -> tuple[Any, Callable[[Vector], Bend]]:
        """The geometry at a position: a `Point`, and the function from a velocity there to its bend."""

    def log_det(self, point: Any) -> Scalar:
        """Log det G, twice the log of the volume element."""

    def momentum(self, point: Any, velocity: Vector) -> Vector:
        """G v."""

    def velocity(self, point: Any, momentum: Vector) -> Vector:
        """G⁻¹ p."""

    def velocity_from_noise(self, point: Any, noise: Vector) -> Vector:
        """A linear map that turns standard normal noise into a velocity drawn from N(0, G⁻¹)."""

    def kick(self, point: Any, velocity: Vector, bend: Bend, length: Scalar) -> tuple[Vector, Scalar]:
        """Change the velocity at fixed position for a time `length`, in one linearly implicit step.

        Solves (G + e Ω̃(v)) v′ = G v + e (∇ℓ − ½∇ log det G), where Ω̃ is G times the Christoffel symbols contracted
        with v. Returns v′ and log|det ∂v′/∂v|. The kick from v′ with −e must give v back.
        """


_QUESTIONS = tuple(name for name in vars(Metric) if not name.startswith("_"))

M = TypeVar("M", bound=Metric)


def check_metric(metric: Any) -> None:
    """Raise unless this is a metric that kernels can use."""
    if isinstance(metric, type):
        raise MetricError(
            f"metric must be a metric, such as mp.Euclidean() or mp.Monge(1.0); {metric.__name__} is a class."
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
    metric.check(position.size)

    def cast(leaf: Any) -> jax.Array:
        array = jnp.asarray(leaf)
        return array.astype(position.dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array

    suited: M = jax.tree.map(cast, metric)
    return suited


def dot(left: jax.Array, right: jax.Array) -> jax.Array:
    """A product in the full precision of its factors, which accelerators do not give by default."""
    return jnp.dot(left, right, precision=jax.lax.Precision.HIGHEST)


def kinetic(metric: Metric, point: Any, velocity: Vector) -> Scalar:
    """½ vᵀGv."""
    return 0.5 * dot(velocity, metric.momentum(point, velocity))


def energy(metric: Metric, point: Any, velocity: Vector) -> Scalar:
    """E(x, v) = −ℓ − ½ log det G + ½ vᵀGv: minus the log of the joint density of position and *velocity*."""
    return kinetic(metric, point, velocity) - point.logdensity - 0.5 * metric.log_det(point)


def hamiltonian(metric: Metric, point: Any, velocity: Vector) -> Scalar:
    """−ℓ + ½ log det G + ½ vᵀGv: minus the log of the joint density of position and *momentum*.

    This is what the exact flow conserves.
    """
    return kinetic(metric, point, velocity) - point.logdensity + 0.5 * metric.log_det(point)
