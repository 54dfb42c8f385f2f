"""Implicit integrators of Riemannian manifold HMC, which check at every step what makes them exact.

They are symplectic in position and momentum. But a step is only what its solver finds: one that did not converge, or
does not lead back to where it came from, would bias the sampler in silence. So every step is solved, then solved
backwards from its end, and marked as failed unless both solutions exist and the second is where the first began.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._linalg import dot
from mongepatch._typing import Count, CountLike, Flag, LogDensity, Scalar, Vector
from mongepatch.integrators.base import Failure, Phase, with_start
from mongepatch.integrators.fixed_point import FixedPoint
from mongepatch.metrics import Metric
from mongepatch.validation import positive_number


class ImplicitNode(NamedTuple):
    """A phase with its momentum, which is what steps are made in."""

    phase: Phase
    momentum: Vector


class _Ruler(NamedTuple):
    """Lengths at a point, as the metric measures them: the same in whatever units parameters are."""

    metric: Metric
    point: Any

    def position(self, change: Vector) -> Scalar:
        """√(δxᵀ G δx)."""
        return jnp.sqrt(dot(change, self.metric.momentum(self.point, change)))

    def momentum(self, change: Vector) -> Scalar:
        """√(δpᵀ G⁻¹ δp)."""
        return jnp.sqrt(dot(change, self.metric.velocity(self.point, change)))

    def both(self, change: Vector) -> Scalar:
        """The larger of the two, of a position and a momentum that are one vector."""
        x, p = jnp.split(change, 2)
        return jnp.maximum(self.position(x), self.momentum(p))


class Stepped(NamedTuple):
    """The end of one step."""

    position: Vector
    momentum: Vector
    converged: Flag
    n_grad: Count


@dataclass(frozen=True)
class Implicit:
    """What implicit integrators share: a step of theirs, checked.

    Args:
        tolerance: how well a step must solve its equations, as the metric at its start measures lengths; by default
            1.5e-8 in double and 3.5e-4 in single precision, the root of the rounding unit. Tighter is not safer: a
            check that rounding decides may pass one way and fail the other, which is a bias.
        reversal_tolerance: how near to its start a step must lead back; by default 1.2e-4 and 1.9e-2, the root of that.
        solver: of the equations.
        checked: whether to check. Without, a step is whatever the solver ended with, which is how biased samplers are
            made: for showing what the checks are for.
    """

    tolerance: float | None = None
    reversal_tolerance: float | None = None
    solver: FixedPoint = field(default_factory=FixedPoint)
    checked: bool = True

    def __post_init__(self) -> None:
        for name in ("tolerance", "reversal_tolerance"):
            if getattr(self, name) is not None:
                positive_number(name, getattr(self, name))

    def step(
        self, logdensity: LogDensity, metric: Metric, position: Vector, momentum: Vector, step_size: Scalar
    ) -> Stepped:
        """One step, unchecked."""
        raise NotImplementedError

    def depart(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar) -> ImplicitNode:
        """The start with its momentum."""
        return ImplicitNode(start, metric.momentum(start.point, start.velocity))

    def advance(self, logdensity: LogDensity, metric: Metric, node: ImplicitNode, step_size: Scalar) -> ImplicitNode:
        """One step, and the same step backwards from its end."""
        phase, start = node.phase, (node.phase.point.position, node.momentum)

        def one_way(place: tuple[Vector, Vector], step_size: Scalar) -> tuple[tuple[Vector, Vector], Stepped]:
            stepped = self.step(logdensity, metric, *place, step_size)
            return (stepped.position, stepped.momentum), stepped

        ways = jnp.stack([step_size, -step_size]) if self.checked else step_size[None]
        _, both = jax.lax.scan(one_way, start, ways)
        there: Stepped = jax.tree.map(lambda leaf: leaf[0], both)
        point, _ = metric.at(logdensity, there.position)
        phase = Phase(
            point,
            metric.velocity(point, there.momentum),
            phase.log_volume + metric.log_det(phase.point) - metric.log_det(point),
            phase.failure,
            phase.n_grad,
        ).costing(both.n_grad.sum() + metric.cost(there.position.size).point)
        if self.checked:
            back: Stepped = jax.tree.map(lambda leaf: leaf[1], both)
            ruler = _Ruler(metric, node.phase.point)
            error = jnp.maximum(ruler.position(back.position - start[0]), ruler.momentum(back.momentum - start[1]))
            returns = back.converged & (error <= _precision(self.reversal_tolerance, 0.25, error))
            phase = phase.failed(~there.converged, Failure.NON_CONVERGENT).failed(~returns, Failure.NON_REVERSIBLE)
        return ImplicitNode(phase.failed(~jnp.isfinite(point.logdensity), Failure.NOT_FINITE), there.momentum)

    def run(
        self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: CountLike
    ) -> Phase:
        """The end of a trajectory of `num_steps` ≥ 1 steps, or the first failure on the way."""

        def goes_on(carry: tuple[Count, ImplicitNode]) -> Flag:
            return (carry[0] < num_steps) & (carry[1].phase.failure == Failure.NONE)

        def body(carry: tuple[Count, ImplicitNode]) -> tuple[Count, ImplicitNode]:
            return carry[0] + 1, self.advance(logdensity, metric, carry[1], step_size)

        first = self.depart(logdensity, metric, start, step_size)
        _, last = jax.lax.while_loop(goes_on, body, (jnp.zeros_like(jnp.asarray(num_steps)), first))
        return last.phase

    def path(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: int) -> Phase:
        """Every end: row n is the end of a trajectory of n steps, row 0 its start."""

        def body(node: ImplicitNode, _: None) -> tuple[ImplicitNode, Phase]:
            node = self.advance(logdensity, metric, node, step_size)
            return node, node.phase

        _, ends = jax.lax.scan(body, self.depart(logdensity, metric, start, step_size), length=num_steps)
        return with_start(start, ends)


@dataclass(frozen=True)
class GeneralizedLeapfrog(Implicit):
    """The leapfrog of Hamiltonians that cannot be split.

    Reference: Girolami, M. and Calderhead, B. (2011). Riemann manifold Langevin and Hamiltonian Monte Carlo methods.
    Journal of the Royal Statistical Society B 73, 123–214.

    p½ = p + ½ε F(x, p½),  x′ = x + ½ε (G⁻¹(x) + G⁻¹(x′)) p½,  p′ = p½ + ½ε F(x′, p½): the first two are implicit.
    """

    def step(
        self, logdensity: LogDensity, metric: Metric, position: Vector, momentum: Vector, step_size: Scalar
    ) -> Stepped:
        """One step, unchecked."""
        cost, half = metric.cost(position.size), 0.5 * step_size
        tolerance = _precision(self.tolerance, 0.5, position)
        point, slope = metric.at(logdensity, position)

        def kicked(p: Vector) -> Vector:
            return momentum + half * metric.force(point, slope, metric.velocity(point, p))

        ruler = _Ruler(metric, point)
        kick = self.solver.solve(kicked, momentum, tolerance, ruler.momentum)
        velocity = metric.velocity(point, kick.value)

        def drifted(x: Vector) -> Vector:
            there, _ = metric.at(logdensity, x)
            return position + half * (velocity + metric.velocity(there, kick.value))

        drift = self.solver.solve(drifted, position + step_size * velocity, tolerance, ruler.position)
        there, slope_there = metric.at(logdensity, drift.value)
        end = kick.value + half * metric.force(there, slope_there, metric.velocity(there, kick.value))
        n_grad = 2 * (cost.point + cost.slope) + cost.force * (kick.n_maps + 1) + cost.point * drift.n_maps
        return Stepped(drift.value, end, kick.converged & drift.converged, n_grad)


@dataclass(frozen=True)
class ImplicitMidpoint(Implicit):
    """x̄ = x + ½ε G⁻¹(x̄)p̄ and p̄ = p + ½ε F(x̄, p̄), then x′ = 2x̄ − x and p′ = 2p̄ − p.

    One equation of twice the size in place of two. It conserves quadratic invariants, and tolerates longer steps.
    """

    def step(
        self, logdensity: LogDensity, metric: Metric, position: Vector, momentum: Vector, step_size: Scalar
    ) -> Stepped:
        """One step, unchecked."""
        cost, half = metric.cost(position.size), 0.5 * step_size
        start = jnp.concatenate([position, momentum])

        def middle(z: Vector) -> Vector:
            x, p = jnp.split(z, 2)
            point, slope = metric.at(logdensity, x)
            velocity = metric.velocity(point, p)
            return start + half * jnp.concatenate([velocity, metric.force(point, slope, velocity)])

        ruler = _Ruler(metric, metric.at(logdensity, position)[0])
        solution = self.solver.solve(middle, start, _precision(self.tolerance, 0.5, start), ruler.both)
        end_position, end_momentum = jnp.split(2.0 * solution.value - start, 2)
        n_grad = cost.point + (cost.point + cost.slope + cost.force) * solution.n_maps
        return Stepped(end_position, end_momentum, solution.converged, n_grad)


def _precision(asked: float | None, power: float, like: jax.Array) -> Scalar:
    """A tolerance as asked for, or a power of the rounding unit."""
    return jnp.asarray(float(np.finfo(like.dtype).eps) ** power if asked is None else asked, like.dtype)
