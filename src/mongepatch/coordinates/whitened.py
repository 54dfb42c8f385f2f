"""A log density in whitened coordinates (ψ, z): inner coordinates θ = m(ψ) + F⁻ᵀz, with P(ψ) = FFᵀ their precision.

Latent residuals are affine in θ, f = B(ψ)θ + a(ψ). With a matrix A(ψ) ⪰ 0 and a vector b(ψ) that stand for the data,

    P = BᵀB + A,   m = P⁻¹(b − Bᵀa),   log density of (ψ, z) = ℓ(ψ, θ) − ½ log det P.

The map is triangular, so that this determinant is its Jacobian, and every draw is exact whatever A and b are. With
A = 0 and b = 0 the coordinates are those of the non-centred form. With the information of normal data z is standard
normal and independent of ψ. A and b are sums over observed variables, each in proportion to its own 1/σ²(ψ). Where
data knows θ by linear predictors η = J(ψ)θ + η₀(ψ), as in a model that is written non-centred, its information W is
about η, and A = JᵀWJ.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._linalg import dot
from mongepatch._typing import AnyVector, Compressed, Entries, Flag, Scalar, Vector
from mongepatch.coordinates.outer import OuterMap
from mongepatch.coordinates.plan import WhiteningPlan
from mongepatch.program import Program
from mongepatch.sparse.sums import take

_MOST_ROUNDED = 1.0
"""The most that a log density may be rounded by. Beyond, where the scale of a hierarchy is less than a millionth of its
values in single precision, and 10⁻¹⁴ of them in double, it is noise, whose peaks would hold a chain for ever. Long
first steps of warm-up throw one of thousands of chains there."""


class Information(NamedTuple):
    """What data says about inner coordinates, or predictors: A and b of each observed variable at σ = 1. A pytree."""

    matrix: jax.Array
    """Entries of A, [variables, entries]."""
    vector: jax.Array
    """b, [variables, inner coordinates or predictors]."""

    @classmethod
    def none(cls, plan: WhiteningPlan, dtype: Any) -> "Information":
        """A = 0, b = 0: the non-centred form."""
        count = len(plan.scaled)
        return cls(
            *(on_device(np.zeros((count, size)), dtype) for size in (len(plan.information_rows), plan.num_informed))
        )


class _Conditional(NamedTuple):
    """What the outer coordinates decide: B and A, of which P = BᵀB + A, and h = b − Bᵀa, of which m = P⁻¹h."""

    jacobian: Compressed
    information: Entries
    right: AnyVector


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["density", "latent", "precisions", "predictors", "information", "outer_map"],
    meta_fields=["plan"],
)
@dataclass(frozen=True)
class WhitenedDensity:
    """A log density of flat vectors y, whose outer coordinates are u and whose inner ones are z.

    A pytree: the programs' data, the information and the outer maps are traced. To change them does not compile again.
    """

    density: Program
    """ℓ(x) in the model's own coordinates."""
    latent: Program
    """f(x), the latent residuals."""
    precisions: Program
    """1/σ²(x) of each observed variable."""
    predictors: Program | None
    """η(x), the linear predictors; None where data's information is about θ itself."""
    information: Information
    outer_map: OuterMap
    plan: WhiteningPlan

    def __call__(self, position: Vector) -> Scalar:
        """ℓ at the model's position plus the log determinant of the map."""
        return _value(self, position)

    def to_model(self, position: Vector) -> Vector:
        """The model's own coordinates of a whitened position."""
        return _to_model(self, position)[0]

    def to_model_with_log_det(self, position: Vector) -> tuple[Vector, Scalar]:
        """The same, and the log determinant of the map, by which the log densities differ."""
        return _to_model(self, position)

    def from_model(self, position: Vector) -> Vector:
        """The whitened position of one in the model's own coordinates."""
        psi, theta = self.plan.split(position)
        given, algebra = self._given(psi), self.plan.algebra
        factor = algebra.factor(given.jacobian, given.information)
        z = algebra.root_transposed(factor, theta - algebra.solve(factor, given.right))
        return self.plan.join(self.outer_map.inverse(psi), z)

    def _with_log_det(self, position: Vector, *, for_gradients: bool) -> tuple[Vector, Scalar, Flag]:
        """The model's position, the log determinant of the map, and whether the precision resolves the place."""
        u, z = self.plan.split(position)
        psi, outer_log_det = self.outer_map.forward(u)
        (jacobian, information, right), algebra = self._given(psi), self.plan.algebra
        if for_gradients:
            theta, log_det = algebra.draw_with_log_det(jacobian, information, right, z)
        else:
            factor = algebra.factor(jacobian, information)
            theta, log_det = algebra.draw(factor, right, z), algebra.log_det(factor)
        return self.plan.join(psi, theta), outer_log_det - 0.5 * log_det, self._is_resolved(jacobian, theta)

    def _is_resolved(self, jacobian: Compressed, theta: AnyVector) -> Flag:
        """Whether ½|f|² is rounded by little: by about ε times the norm of all terms Bᵢⱼθⱼ."""
        entries, theta = jax.lax.stop_gradient((jacobian, theta))
        terms = entries * take(theta, self.plan.columns_of_jacobian)
        return dot(terms, terms) < (_MOST_ROUNDED / float(np.finfo(terms.dtype).eps)) ** 2

    def _given(self, psi: AnyVector) -> _Conditional:
        plan, algebra = self.plan, self.plan.algebra
        origin = jnp.zeros(len(plan.inner), psi.dtype)

        def residuals(theta: AnyVector) -> AnyVector:
            return self.latent(plan.join(psi, theta))

        jacobian = plan.colouring.compressed(residuals, origin)
        weights = self.precisions(plan.join(psi, origin))
        weights = jnp.where(jnp.asarray(plan.scaled), weights, 1.0)
        matrix, right = dot(weights, self.information.matrix), dot(weights, self.information.vector)
        if plan.predictors is not None:
            predictors: Any = self.predictors
            matrix, right = plan.predictors.at(lambda theta: predictors(plan.join(psi, theta)), origin, matrix, right)
        if plan.has_offset:
            right = right - algebra.transposed(jacobian, residuals(origin))
        return _Conditional(jacobian, matrix, right)


# Sparse systems are many operations. Under a `jit` of their own they are traced and differentiated once, and not in
# every program that uses the density.
@jax.jit
def _value(density: WhitenedDensity, position: Vector) -> Scalar:
    x, log_det, is_resolved = density._with_log_det(position, for_gradients=True)
    return jnp.where(is_resolved, density.density(x) + log_det, -jnp.inf)


@jax.jit
def _to_model(density: WhitenedDensity, position: Vector) -> tuple[Vector, Scalar]:
    return density._with_log_det(position, for_gradients=False)[:2]
