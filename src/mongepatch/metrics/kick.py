"""The kick of metrics whose Ω̃ is a matrix, once for all of them: dense matrices and patches alike."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from mongepatch._typing import Scalar, ScalarLike, Vector


class MatrixBend(NamedTuple):
    """How a metric changes along a velocity v."""

    log_det: Vector
    """∇ ½ log det G, the same for all velocities."""
    change: Any
    """What Ω̃(v), G times the Christoffel symbols contracted with v, is made from: itself, or J̇(v) of a patch."""


class KickSystem(Protocol):
    """The linear systems of a kick at one point. `change` is that of a `MatrixBend`."""

    def omega(self, change: Any, velocity: Vector) -> Vector:
        """Ω̃ v."""

    def factor(self, change: Any, length: ScalarLike) -> Any:
        """Factors of G + eΩ̃."""

    def solve(self, factor: Any, covector: Vector) -> Vector:
        """(G + eΩ̃)⁻¹ p."""

    def log_abs_ratio(self, after: Any, before: Any) -> Scalar:
        """Log of the ratio of two determinants, without their signs."""


def matrix_kick(
    system: KickSystem,
    gradient: Vector,
    bend_along: Callable[[Vector], MatrixBend],
    velocity: Vector,
    bend: MatrixBend,
    length: ScalarLike,
) -> tuple[Vector, MatrixBend, Scalar]:
    """v′ = v + e (G + eΩ̃(v))⁻¹ (∇ℓ − ½∇ log det G − Ω̃(v)v), its bend, and the log-volume of the kick.

    log-volume = log|det(G − eΩ̃(v′))| − log|det(G + eΩ̃(v))|
    """
    before = system.factor(bend.change, length)
    push = gradient - bend.log_det - system.omega(bend.change, velocity)
    kicked = velocity + length * system.solve(before, push)
    bend_after = bend_along(kicked)
    after = system.factor(bend_after.change, -length)
    return kicked, bend_after, system.log_abs_ratio(after, before)
