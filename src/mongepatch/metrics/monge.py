"""The Monge metric G = M + α² ∇ℓ ∇ℓᵀ, in closed form and without a matrix.

It is the metric that the surface (x, αℓ(x)) inherits from the space around it. It stiffens one direction, the
gradient's, in proportion to how steep the log density is there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._auto import check_found
from mongepatch._keywords import checked_keywords
from mongepatch._linalg import dot
from mongepatch._pytree import pytree
from mongepatch._typing import LogDensity, Scalar, ScalarLike, Vector
from mongepatch.metrics.base import Cost
from mongepatch.metrics.inverse_mass import InverseMass, alpha_from, inverse_mass_from
from mongepatch.program import at_two_vectors


class MongePoint(NamedTuple):
    """The geometry at a position, with g = ∇ℓ and H = ∇²ℓ."""

    position: Vector
    logdensity: Scalar
    gradient: Vector
    stretch: Scalar
    """L = 1 + α² g·n with n = M⁻¹g: the determinant of G relative to M."""


class MongeSlope(NamedTuple):
    """How the gradient changes around a position."""

    hessian_times: Callable[[Vector], Vector]
    """v ↦ Hv, from the linearisation that made the gradient."""
    curvature: Vector
    """h = H n, for the force. A bend makes it together with Hv, and compiled code then leaves this one out."""
    data: tuple[Any, ...]
    """Arrays of the log density that are the same at all positions."""


class MongeBend(NamedTuple):
    """How the gradient changes along n and along a velocity."""

    curvature: Vector
    """h = H n, the same for all velocities."""
    along: Vector
    """H v."""


@checked_keywords
@pytree
@dataclass(frozen=True, init=False)
class Monge:
    """The metric of the paper, G = M + α² ∇ℓ ∇ℓᵀ. A kick costs two Hessian-vector products and no Hessian.

    Args:
        alpha: α ≥ 0, how high the patch rises. At 0 the sampler is HMC. Where parameters have a scale of about 1, or
            `inverse_mass` holds their scale, useful values are about 1 for a target with one stiff direction, 0.1 for
            three to five, and 0 beyond. Too large an α makes chains crawl wherever the density is steep. "auto" has it
            found in the warm-up of `sample`, which may find that it is 0.
        inverse_mass: M⁻¹, as for `Euclidean`.

    Example:
        >>> metric = mp.Monge(alpha=1.0)
        >>> found_in_warmup = mp.Monge("auto", inverse_mass="auto")
    """

    alpha: Any
    inverse_mass: InverseMass

    def __init__(self, alpha: Any, inverse_mass: Any = None) -> None:
        object.__setattr__(self, "alpha", alpha_from(alpha))
        object.__setattr__(self, "inverse_mass", inverse_mass_from(inverse_mass))

    def cost(self, dimension: int) -> Cost:
        """One gradient a point; one Hessian-vector product for h, and one for each velocity."""
        return Cost(point=1, slope=1, revisit=1, bend=1, force=1)

    def check(self, dimension: int) -> None:
        """Raise `MetricError` if the inverse mass has another dimension, or anything is unknown."""
        check_found(self.alpha)
        self.inverse_mass.check(dimension)

    def at(self, logdensity: LogDensity, position: Vector) -> tuple[MongePoint, MongeSlope]:
        """One gradient; its linearisation, and h = Hn from that."""

        def gradient_and_value(x: Vector) -> tuple[Vector, Scalar]:
            value, gradient = jax.value_and_grad(logdensity)(x)
            return gradient, value

        gradient, hessian_times, value = jax.linearize(gradient_and_value, position, has_aux=True)
        natural = self.inverse_mass.apply(gradient)
        stretch = 1.0 + self.alpha**2 * dot(gradient, natural)
        point = MongePoint(position, value, gradient, stretch)
        return point, MongeSlope(hessian_times, hessian_times(natural), tuple(jax.tree.leaves(logdensity)))

    def log_det(self, point: MongePoint) -> Scalar:
        """Log det M + log L."""
        return self.inverse_mass.log_det_mass() + jnp.log(point.stretch)

    def momentum(self, point: MongePoint, velocity: Vector) -> Vector:
        """M v + α² g (g·v)."""
        return self.inverse_mass.solve(velocity) + self.alpha**2 * dot(point.gradient, velocity) * point.gradient

    def velocity(self, point: MongePoint, momentum: Vector) -> Vector:
        """M⁻¹p − (α²/L) n (n·p), by Sherman and Morrison."""
        natural = self.inverse_mass.apply(point.gradient)
        along = self.alpha**2 / point.stretch * dot(natural, momentum)
        return self.inverse_mass.apply(momentum) - along * natural

    def velocity_from_noise(self, point: MongePoint, noise: Vector) -> Vector:
        """C(z + c q (q·z)) with q = Cᵀg and c = −α² / (√L (1 + √L)), which is finite at a mode too."""
        steep = self.inverse_mass.root_transposed(point.gradient)
        root = jnp.sqrt(point.stretch)
        shrink = -(self.alpha**2) / (root * (1.0 + root))
        return self.inverse_mass.root(noise + shrink * dot(steep, noise) * steep)

    def bend(self, point: MongePoint, slope: MongeSlope, velocity: Vector) -> MongeBend:
        """Hn and Hv, which share their passes over the data."""
        natural = self.inverse_mass.apply(point.gradient)
        return MongeBend(*at_two_vectors(slope.hessian_times, natural, velocity, slope.data))

    def kick(
        self, point: MongePoint, slope: MongeSlope, velocity: Vector, bend: MongeBend, length: ScalarLike
    ) -> tuple[Vector, MongeBend, Scalar]:
        """Closed form of the linear solve, with a = α², e = `length`, m = M⁻¹h and Hv from `bend`.

        v′ = v + s n − (e a/L) m,  s = e (1 − a v·Hv + (a²/L) (h·n + e Hv·m)) / (L + e a h·v)
        log-volume = log|1 − e a h·v′/L| − log|1 + e a h·v/L|

        The paper's form of v′ adds and takes away a (g·v) n, which is huge where the target is stiff; here it has been
        cancelled by hand, so that α = 0 is leapfrog exactly and steep points lose no digits. h·v′ is added up from h·v,
        h·n and h·m: no sum over parameters has to wait for v′, and accelerators make all of them in one operation.
        """
        a = self.alpha**2
        factor = length * a / point.stretch
        natural, pull = self.inverse_mass.apply(point.gradient), self.inverse_mass.apply(bend.curvature)
        # Scaled before it is multiplied by h again: h·m overflows in single precision where the target is very stiff.
        back = factor * pull
        h_v, h_natural = dot(bend.curvature, velocity), dot(bend.curvature, natural)
        before = factor * h_v
        correction = a * (a / point.stretch) * h_natural + a * dot(bend.along, back)
        numerator = 1.0 - a * dot(velocity, bend.along) + correction
        push = length * numerator / (point.stretch * (1.0 + before))
        kicked = velocity + push * natural - back
        after = factor * (h_v + push * h_natural - dot(bend.curvature, back))
        log_volume = jnp.log(jnp.abs(1.0 - after)) - jnp.log(jnp.abs(1.0 + before))
        return kicked, MongeBend(bend.curvature, slope.hessian_times(kicked)), log_volume

    def force(self, point: MongePoint, slope: MongeSlope, velocity: Vector) -> Vector:
        """∇ℓ − (α²/L) h + α² (g·v) Hv."""
        a = self.alpha**2
        turn = a * dot(point.gradient, velocity) * slope.hessian_times(velocity)
        return point.gradient - a / point.stretch * slope.curvature + turn
