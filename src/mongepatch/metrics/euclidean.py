"""The flat metric. Lagrangian Monte Carlo in it is Hamiltonian Monte Carlo, step for step.

With a center, the Hamiltonian is split into that of a normal density and the rest (Shahbaba, Lan, Johnson and Neal
2014, Split Hamiltonian Monte Carlo, Statistics and Computing 24). The motion in the normal density is a rotation of
x − center and v, which is followed exactly; kicks are by what the density adds to it.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._auto import ToBeFound
from mongepatch._keywords import checked_keywords
from mongepatch._pytree import is_concrete, pytree
from mongepatch._typing import LogDensity, Scalar, ScalarLike, Vector
from mongepatch.errors import MetricError
from mongepatch.metrics.base import Cost
from mongepatch.metrics.inverse_mass import InverseMass, inverse_mass_from
from mongepatch.metrics.low_rank import LowRank
from mongepatch.validation import number_at_least_zero


class EuclideanPoint(NamedTuple):
    """A position with its density and gradient."""

    position: Vector
    logdensity: Scalar
    gradient: Vector


@checked_keywords
@pytree
@dataclass(frozen=True, init=False)
class Euclidean:
    """The constant metric G = M of ordinary HMC.

    Kick: v′ = v + e M⁻¹∇ℓ, which preserves volume. With a center, kicks are v′ = v + e (M⁻¹∇ℓ + ω²(x − center)), and
    between them x − center and v turn by the angle ωε, as they do in N(center, M⁻¹/ω²): the nearer the density is to
    that one, the longer steps can be. Draws are exact whatever the center is.

    Args:
        inverse_mass: M⁻¹, best an estimate of the posterior covariance: None for the identity, a vector of D
            variances, or a D × D matrix; parameters in the order of the flat vector (of a dict, keys sorted). "auto",
            "diagonal", "low-rank" and "dense" have it found in the warm-up of `sample`.
        center: D numbers, best an estimate of the posterior mean, for the kernel "lmc"; None for leapfrog steps along
            straight lines. In the warm-up of `sample` it is found together with `inverse_mass`.
        frequency: ω, the angle by which x − center and v turn in a unit of time: 1 where none is given, as in
            N(center, M⁻¹). 0 makes leapfrog steps.

    Example:
        >>> metric = mp.Euclidean(inverse_mass=[1.0, 0.01])  # variances of two parameters
        >>> found_in_warmup = mp.Euclidean("diagonal")
        >>> split = mp.Euclidean([1.0, 0.01], center=[2.0, -0.5])  # mean and variances
    """

    inverse_mass: InverseMass
    center: Any
    frequency: Any
    alpha: ClassVar[float] = 0.0

    def __init__(self, inverse_mass: Any = None, center: Any = None, frequency: Any = None) -> None:
        if center is None and frequency is not None:
            raise MetricError("frequency is that of turns around a center: give center, or leave it out.")
        object.__setattr__(self, "inverse_mass", inverse_mass_from(inverse_mass))
        if center is not None and isinstance(self.inverse_mass, ToBeFound):
            raise MetricError("The center is found in warm-up together with the inverse mass: give both, or neither.")
        object.__setattr__(self, "center", None if center is None else _finite_vector(center))
        if center is not None:
            frequency = number_at_least_zero("frequency", 1.0 if frequency is None else frequency, error=MetricError)
        object.__setattr__(self, "frequency", frequency)

    @property
    def turns(self) -> bool:
        """Whether x − center and v turn between kicks."""
        return self.center is not None and float(self.frequency) > 0.0

    def cost(self, dimension: int) -> Cost:
        """One gradient a point."""
        return Cost(point=1)

    def check(self, dimension: int) -> None:
        """Raise `MetricError` if the inverse mass or the center has another dimension."""
        self.inverse_mass.check(dimension)
        if self.center is not None and self.center.shape != (dimension,):
            raise MetricError(
                f"center must be a vector of the target's {dimension} parameters; its shape is {self.center.shape}."
            )

    def at(self, logdensity: LogDensity, position: Vector) -> tuple[EuclideanPoint, None]:
        """Density and gradient; the geometry is the same everywhere."""
        value, gradient = jax.value_and_grad(logdensity)(position)
        return EuclideanPoint(position, value, gradient), None

    def log_det(self, point: EuclideanPoint) -> Scalar:
        """Log det M."""
        return jnp.asarray(self.inverse_mass.log_det_mass(), point.position.dtype)

    def momentum(self, point: EuclideanPoint, velocity: Vector) -> Vector:
        """M v."""
        return self.inverse_mass.solve(velocity)

    def velocity(self, point: EuclideanPoint, momentum: Vector) -> Vector:
        """M⁻¹ p."""
        return self.inverse_mass.apply(momentum)

    def velocity_from_noise(self, point: EuclideanPoint, noise: Vector) -> Vector:
        """C z."""
        return self.inverse_mass.root(noise)

    def bend(self, point: EuclideanPoint, slope: None, velocity: Vector) -> None:
        """Nothing bends."""

    def kick(
        self, point: EuclideanPoint, slope: None, velocity: Vector, bend: None, length: ScalarLike
    ) -> tuple[Vector, None, Scalar]:
        """v′ = v + e (M⁻¹∇ℓ + ω²(x − center)); log-volume 0."""
        push = self.inverse_mass.apply(point.gradient)
        if self.center is not None:
            push += self.frequency**2 * (point.position - self.center)
        return velocity + length * push, None, jnp.zeros((), velocity.dtype)

    def drift(self, point: EuclideanPoint, velocity: Vector, length: ScalarLike) -> tuple[Vector, Vector]:
        """To x + εv; with a center, x − center and v turn by ωε."""
        if self.center is None:
            return point.position + length * velocity, velocity
        # Written as changes, which lose nothing to rounding where ω or ε is small: 1 − cos = 2 sin² of half the angle.
        angle, offset = self.frequency * length, point.position - self.center
        ahead, back = length * jnp.sinc(angle / jnp.pi), 2.0 * jnp.sin(0.5 * angle) ** 2
        position = point.position + ahead * velocity - back * offset
        return position, velocity - back * velocity - self.frequency * jnp.sin(angle) * offset

    def stable_curvature(self, step_size: float) -> float:
        """The largest curvature, in the scale of M, at which steps are stable: 4/ε² for leapfrog."""
        if not self.turns:
            return 4.0 / step_size**2
        # Half kicks by the rest r of the curvature around a turn are stable while r ε sin(ωε)/ω < 2 (1 + cos ωε).
        angle = float(self.frequency) * step_size
        rest = 2.0 * angle / (step_size**2 * np.tan(0.5 * angle)) if angle < np.pi else 0.0
        return float(rest + float(self.frequency) ** 2)

    def force(self, point: EuclideanPoint, slope: None, velocity: Vector) -> Vector:
        """∇ℓ."""
        return point.gradient


def turning_frequency(metric: Any) -> float:
    """ω of a metric in which x − center and v turn between kicks; 0 of any other."""
    return float(metric.frequency) if isinstance(metric, Euclidean) and metric.turns else 0.0


def for_many_steps(metric: Any) -> Any:
    """A Euclidean metric with what is the same in all steps computed once, and others as they are.

    It is for compiled code, around its loops: the matrices of a low-rank mass in few dimensions.
    """
    base = metric.inverse_mass if isinstance(metric, Euclidean) else None
    return replace(metric, inverse_mass=base.as_matrices()) if isinstance(base, LowRank) else metric


def _finite_vector(center: Any) -> Vector:
    """A vector of numbers; a traced one is not checked."""
    if not is_concrete(center):
        return center
    try:
        array: Any = center if isinstance(center, jax.Array) else np.asarray(center, jnp.result_type(float))
    except (TypeError, ValueError) as error:
        raise MetricError(
            f"center must be a vector of numbers, not an object of type {type(center).__name__}."
        ) from error
    if array.ndim != 1 or not np.isfinite(np.asarray(array)).all():
        raise MetricError(f"center must be a vector of D finite numbers; it is {center!r}.")
    return on_device(array)
