"""The linear algebra of G = M + α²JᵀJ and of G + eΩ̃(v) = M + α²Jᵀ(J + eJ̇(v)), in the form that suits M and J."""

from typing import Any, Protocol

from mongepatch._typing import Compressed, Scalar, ScalarLike, Vector
from mongepatch.metrics.inverse_mass import Diagonal, Identity, InverseMass
from mongepatch.metrics.patch.dense_algebra import TallAlgebra, WideAlgebra
from mongepatch.metrics.patch.sparse_algebra import SparseAlgebra
from mongepatch.sparse.plan import JacobianPlan


class Algebra(Protocol):
    """What a patch asks of its matrices. J and J̇ are given as `read` returns them."""

    def read(self, compressed: Compressed) -> Any:
        """J or J̇ in the form that the other questions expect, from its compressed entries. Linear."""

    def factor(self, jacobian: Any) -> Any:
        """Factors of G, a pytree of arrays."""

    def log_det(self, factor: Any) -> Scalar:
        """Log det G."""

    def multiply(self, jacobian: Any, velocity: Vector) -> Vector:
        """G v."""

    def solve(self, jacobian: Any, factor: Any, covector: Vector) -> Vector:
        """G⁻¹ p."""

    def root(self, jacobian: Any, factor: Any, noise: Vector) -> Vector:
        """A linear map R of the noise with RRᵀ = G⁻¹."""

    def weights(self, jacobian: Any, factor: Any) -> Any:
        """W = α²JG⁻¹, as the cotangent of what `read` returns."""

    def omega(self, jacobian: Any, change: Any, velocity: Vector) -> Vector:
        """α²Jᵀ(J̇v)."""

    def kick_factor(self, jacobian: Any, change: Any, length: ScalarLike) -> Any:
        """Factors of G + eΩ̃ = M + α²Jᵀ(J + eJ̇)."""

    def kick_solve(self, jacobian: Any, factor: Any, covector: Vector) -> Vector:
        """(G + eΩ̃)⁻¹ p."""

    def log_abs_ratio(self, after: Any, before: Any) -> Scalar:
        """Log of the ratio of two determinants of `kick_factor`, without their signs."""


def algebra(plan: JacobianPlan, inverse_mass: InverseMass, square: ScalarLike) -> Algebra:
    """The form of the algebra that costs least, with square = α²."""
    if isinstance(inverse_mass, Identity | Diagonal) and plan.sparse is not None:
        return SparseAlgebra(plan.sparse, inverse_mass, square)
    rows, dimension = plan.pattern.shape
    return WideAlgebra(plan, inverse_mass, square) if rows < dimension else TallAlgebra(plan, inverse_mass, square)
