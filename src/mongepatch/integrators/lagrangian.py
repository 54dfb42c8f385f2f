"""The explicit Lagrangian integrator, for every metric.

A trajectory of L steps is a palindrome of kicks K and drifts D, hence reversible, and its log-volume is the sum over
its kicks:

    K(ε/2) D(ε) [P D(ε)]ᴸ⁻¹ K(ε/2)

where P is what happens at an interior point: two half kicks in the paper's scheme, one whole kick in the merged one.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import jax
import jax.numpy as jnp

from mongepatch._typing import CountLike, LogDensity, Scalar, Vector
from mongepatch.errors import SettingError
from mongepatch.integrators.base import Failure, Phase, with_start
from mongepatch.metrics import Bend, Metric, drift

Scheme: TypeAlias = Literal["merged", "paper"]


class Motion(NamedTuple):
    """What kicks change at a fixed position: the velocity, and the log-volume gathered so far."""

    velocity: Vector
    log_volume: Scalar


class LagrangianNode(NamedTuple):
    """A phase of the trajectory, and the motion that leaves it after another half kick."""

    phase: Phase
    leaving: Motion


@dataclass(frozen=True)
class Lagrangian:
    """Kick–drift–kick in the metric's own geometry.

    Args:
        scheme: "merged" makes one whole kick at the interior points of a trajectory whose length is known: in the Monge
            metric 1 gradient and 2 Hessian-vector products per step. "paper" makes two half kicks there, at 1 gradient
            and 3 products. `depart` and `advance`, whose phases must all lie on one orbit, always make two.
    """

    scheme: Scheme = "merged"

    def __post_init__(self) -> None:
        if self.scheme not in get_args(Scheme):
            raise SettingError(f"scheme must be one of {get_args(Scheme)}; it is {self.scheme!r}.")

    def depart(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar) -> LagrangianNode:
        """The first half kick, at a stored point."""
        start, leaving = _depart(logdensity, metric, start, step_size)
        return LagrangianNode(start, Motion(leaving.velocity, leaving.log_volume))

    def advance(
        self, logdensity: LogDensity, metric: Metric, node: LagrangianNode, step_size: Scalar
    ) -> LagrangianNode:
        """Drift to the next point; half a kick ends the step there, another half begins the next."""
        leaving, cost = node.leaving, metric.cost(node.phase.velocity.size)
        before = node.phase._replace(velocity=leaving.velocity, log_volume=leaving.log_volume)
        arrival, slope, bend = _drift(logdensity, metric, before, step_size)
        velocity, bend, gained = metric.kick(arrival.point, slope, arrival.velocity, bend, 0.5 * step_size)
        phase = arrival._replace(velocity=velocity, log_volume=arrival.log_volume + gained)
        onwards, _, further = metric.kick(phase.point, slope, velocity, bend, 0.5 * step_size)
        phase = phase.costing((1 + cost.volume_bends) * cost.bend)
        return LagrangianNode(phase, Motion(onwards, phase.log_volume + further))

    def run(
        self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: CountLike
    ) -> Phase:
        """The end of a trajectory of `num_steps` ≥ 1 steps, which may be traced."""
        if self.scheme == "paper":
            first = self.depart(logdensity, metric, start, step_size)
            last = jax.lax.fori_loop(
                0, num_steps, lambda _, node: self.advance(logdensity, metric, node, step_size), first
            )
            return last.phase
        _, leaving = _depart(logdensity, metric, start, step_size)

        # Phases are carried as they leave their points: after a whole kick, and after half a kick at the last.
        def step(number: CountLike, phase: Phase) -> Phase:
            arrival, slope, bend = _drift(logdensity, metric, phase, step_size)
            length = jnp.where(number + 1 < num_steps, step_size, 0.5 * step_size)
            return _kicked(metric, arrival, slope, bend, length)

        return jax.lax.fori_loop(0, num_steps, step, leaving)

    def path(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: int) -> Phase:
        """Every end: row n is the end of a trajectory of n steps, row 0 its start."""

        def step(node: LagrangianNode, _: None) -> tuple[LagrangianNode, Phase]:
            node = self.advance(logdensity, metric, node, step_size)
            return node, node.phase

        def merged_step(phase: Phase, _: None) -> tuple[Phase, Phase]:
            arrival, slope, bend = _drift(logdensity, metric, phase, step_size)
            leaving, end = (_kicked(metric, arrival, slope, bend, share * step_size) for share in (1.0, 0.5))
            return leaving, end

        if self.scheme == "paper":
            first = self.depart(logdensity, metric, start, step_size)
            _, ends = jax.lax.scan(step, first, length=num_steps)
        else:
            _, leaving = _depart(logdensity, metric, start, step_size)
            _, ends = jax.lax.scan(merged_step, leaving, length=num_steps)
        return with_start(start, ends)


def _depart(logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar) -> tuple[Phase, Phase]:
    """The first half kick, at a stored point: the start with what it cost, and the phase that leaves it."""
    cost = metric.cost(start.velocity.size)
    _, slope = metric.at(logdensity, start.point.position)
    bend = metric.bend(start.point, slope, start.velocity)
    leaving = _kicked(metric, start.costing(cost.revisit + cost.slope + cost.bend), slope, bend, 0.5 * step_size)
    return start._replace(n_grad=leaving.n_grad), leaving


def _drift(logdensity: LogDensity, metric: Metric, leaving: Phase, step_size: Scalar) -> tuple[Phase, Any, Bend]:
    """The phase that arrives at the next point, the slope there, and the bend of its velocity."""
    position, velocity = drift(metric, leaving.point, leaving.velocity, step_size)
    point, slope = metric.at(logdensity, position)
    cost = metric.cost(velocity.size)
    arrival = leaving._replace(point=point, velocity=velocity).costing(cost.point + cost.slope + cost.bend)
    # A path through a place without a density cannot be used, whatever its end.
    arrival = arrival.failed(~jnp.isfinite(point.logdensity), Failure.NOT_FINITE)
    return arrival, slope, metric.bend(point, slope, velocity)


def _kicked(metric: Metric, phase: Phase, slope: Any, bend: Bend, length: Scalar) -> Phase:
    """The phase after a kick at its point."""
    velocity, _, gained = metric.kick(phase.point, slope, phase.velocity, bend, length)
    cost = metric.cost(velocity.size)
    phase = phase._replace(velocity=velocity, log_volume=phase.log_volume + gained)
    return phase.costing(cost.volume_bends * cost.bend)
