"""The flat metric. Lagrangian Monte Carlo in it is Hamiltonian Monte Carlo, step for step."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._keywords import checked_keywords
from mongepatch._pytree import pytree
from mongepatch._typing import LogDensity, Scalar, ScalarLike, Vector
from mongepatch.metrics.base import Cost
from mongepatch.metrics.inverse_mass import InverseMass, inverse_mass_from


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

    Kick: v′ = v + e M⁻¹∇ℓ, which preserves volume.

    Args:
        inverse_mass: M⁻¹, best an estimate of the posterior covariance: None for the identity, a vector of D
            variances, or a D × D matrix; parameters in the order of the flat vector (dict keys sorted). "auto",
            "diagonal", "low-rank" and "dense" have it found in the warm-up of `sample`.

    Example:
        >>> metric = mp.Euclidean(inverse_mass=[1.0, 0.01])  # variances of two parameters
        >>> found_in_warmup = mp.Euclidean("diagonal")
    """

    inverse_mass: InverseMass
    alpha: ClassVar[float] = 0.0

    def __init__(self, inverse_mass: Any = None) -> None:
        object.__setattr__(self, "inverse_mass", inverse_mass_from(inverse_mass))

    def cost(self, dimension: int) -> Cost:
        """One gradient a point."""
        return Cost(point=1)

    def check(self, dimension: int) -> None:
        """Raise `MetricError` if the inverse mass has another dimension."""
        self.inverse_mass.check(dimension)

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
        """v′ = v + e M⁻¹∇ℓ; log-volume 0."""
        kicked = velocity + length * self.inverse_mass.apply(point.gradient)
        return kicked, None, jnp.zeros((), velocity.dtype)

    def force(self, point: EuclideanPoint, slope: None, velocity: Vector) -> Vector:
        """∇ℓ."""
        return point.gradient
