"""The metric of a vector patch, G = M + α² JᵀJ, with J the Jacobian of a map from parameters to residuals.

It is the metric that the surface (x, αf(x)) inherits from the space around it. Where the Monge metric stiffens one
direction, this one stiffens as many as there are residuals, each in proportion to how steep its residual is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax

from mongepatch._auto import check_found
from mongepatch._keywords import checked_keywords
from mongepatch._linalg import dot
from mongepatch._pytree import pytree
from mongepatch._typing import LogDensity, Scalar, ScalarLike, Vector
from mongepatch.metrics.base import Cost
from mongepatch.metrics.inverse_mass import InverseMass, alpha_from, inverse_mass_from
from mongepatch.metrics.kick import MatrixBend, matrix_kick
from mongepatch.metrics.patch.algebra import Algebra, algebra
from mongepatch.metrics.patch.residuals import Residuals


class PatchPoint(NamedTuple):
    """The geometry at a position."""

    position: Vector
    logdensity: Scalar
    gradient: Vector
    jacobian: Any
    """J, in the form of the algebra in use."""
    factor: Any
    """Factors of G."""


class PatchSlope(NamedTuple):
    """How J changes around a position."""

    change_along: Callable[[Vector], Any]
    """v ↦ J̇(v), from the linearisation that made J."""
    log_det: Vector
    """∇ ½ log det G."""


class _PatchKick(NamedTuple):
    """The linear systems of a kick at one point; the change along a velocity is J̇(v)."""

    algebra: Algebra
    jacobian: Any

    def omega(self, change: Any, velocity: Vector) -> Vector:
        """Ω̃(v)v = α²Jᵀ(J̇v)."""
        return self.algebra.omega(self.jacobian, change, velocity)

    def factor(self, change: Any, length: ScalarLike) -> Any:
        """Factors of G + eΩ̃."""
        return self.algebra.kick_factor(self.jacobian, change, length)

    def solve(self, factor: Any, covector: Vector) -> Vector:
        """(G + eΩ̃)⁻¹ p."""
        return self.algebra.kick_solve(self.jacobian, factor, covector)

    def log_abs_ratio(self, after: Any, before: Any) -> Scalar:
        """From both factors."""
        return self.algebra.log_abs_ratio(after, before)


@checked_keywords
@pytree
@dataclass(frozen=True, init=False)
class Patch:
    """The metric of a model's residuals, G = M + α² JᵀJ, for targets in which many directions become stiff at once.

    For whitened residuals, such as (value − mean)/scale of every random variable, data included, JᵀJ is the
    Gauss–Newton matrix of the whole model: the metric follows the funnel of a hierarchy that is written centred. What a
    step costs follows from which residual knows which parameter: the groups of a hierarchy are taken together, at O(D).

    Args:
        residuals: f, from the flat vector of D parameters (of a dict, keys sorted) to a vector of any length, written
            with jax.numpy.
        alpha: α ≥ 0, the scale of the residuals against M; about 1 for whitened ones. At 0 the sampler is HMC. "auto"
            is for the warm-up of `sample`.
        inverse_mass: M⁻¹, as for `Euclidean`. A full matrix makes every step O(D³).

    Example:
        >>> def residuals(x):  # x[1:] ~ N(0, exp(x[0])²), x[0] ~ N(0, 3²)
        ...     return jnp.append(x[1:] / jnp.exp(x[0]), x[0] / 3.0)
        >>> metric = mp.Patch(residuals, alpha=1.0)
    """

    residuals: Residuals
    alpha: Any
    inverse_mass: InverseMass

    def __init__(self, residuals: Any, alpha: Any, inverse_mass: Any = None) -> None:
        if not isinstance(residuals, Residuals):
            residuals = Residuals("residuals", residuals)
        object.__setattr__(self, "residuals", residuals)
        object.__setattr__(self, "alpha", alpha_from(alpha))
        object.__setattr__(self, "inverse_mass", inverse_mass_from(inverse_mass))

    def cost(self, dimension: int) -> Cost:
        """The Jacobian and its derivatives count as the products that they are made from: one for each colour."""
        products = self.residuals.plan(dimension).colouring.products
        return Cost(point=1 + products, slope=products, revisit=products, bend=products, volume_bends=1, force=2)

    def check(self, dimension: int) -> None:
        """Raise `MetricError` if the inverse mass has another dimension, residuals are none, or anything is unknown."""
        check_found(self.alpha)
        self.inverse_mass.check(dimension)
        self.residuals.plan(dimension)

    def at(self, logdensity: LogDensity, position: Vector) -> tuple[PatchPoint, PatchSlope]:
        """One gradient; J and its linearisation; ∇ ½ log det G = ∇⟨W, J(x)⟩ at fixed W = α²JG⁻¹, by its transpose."""
        form = self._algebra(position)
        value, gradient = jax.value_and_grad(logdensity)(position)
        jacobian, change_along = jax.linearize(lambda x: form.read(self.residuals.compressed(x)), position)
        factor = form.factor(jacobian)
        (log_det,) = jax.linear_transpose(change_along, position)(form.weights(jacobian, factor))
        return PatchPoint(position, value, gradient, jacobian, factor), PatchSlope(change_along, log_det)

    def log_det(self, point: PatchPoint) -> Scalar:
        """From the factors of G."""
        return self._algebra(point.position).log_det(point.factor)

    def momentum(self, point: PatchPoint, velocity: Vector) -> Vector:
        """Mv + α²Jᵀ(Jv)."""
        return self._algebra(point.position).multiply(point.jacobian, velocity)

    def velocity(self, point: PatchPoint, momentum: Vector) -> Vector:
        """G⁻¹p, from the factors of G."""
        return self._algebra(point.position).solve(point.jacobian, point.factor, momentum)

    def velocity_from_noise(self, point: PatchPoint, noise: Vector) -> Vector:
        """Rz with RRᵀ = G⁻¹."""
        return self._algebra(point.position).root(point.jacobian, point.factor, noise)

    def bend(self, point: PatchPoint, slope: PatchSlope, velocity: Vector) -> MatrixBend:
        """∇ ½ log det G and J̇(v)."""
        return MatrixBend(slope.log_det, slope.change_along(velocity))

    def kick(
        self, point: PatchPoint, slope: PatchSlope, velocity: Vector, bend: MatrixBend, length: ScalarLike
    ) -> tuple[Vector, MatrixBend, Scalar]:
        """See `matrix_kick`, with Ω̃(v) = α²JᵀJ̇(v)."""
        system = _PatchKick(self._algebra(point.position), point.jacobian)
        return matrix_kick(system, point.gradient, partial(self.bend, point, slope), velocity, bend, length)

    def force(self, point: PatchPoint, slope: PatchSlope, velocity: Vector) -> Vector:
        """∇ℓ − ½∇ log det G + ½∇(α²|Jv|²), the last by a reverse pass of one product."""

        def kinetic(position: Vector) -> Scalar:
            along = jax.jvp(self.residuals, (position,), (velocity,))[1]
            return 0.5 * self.alpha**2 * dot(along, along)

        return point.gradient - slope.log_det + jax.grad(kinetic)(point.position)

    def _algebra(self, position: Vector) -> Algebra:
        plan = self.residuals.plan(position.size, position.dtype)
        return algebra(plan, self.inverse_mass, self.alpha**2)
