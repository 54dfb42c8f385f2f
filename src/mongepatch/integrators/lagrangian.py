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


class _Visit(NamedTuple):
    """A point that the merged scheme passes: the phase that arrives, its velocity's bend, the motion that leaves."""

    arrival: Phase
    bend: Bend
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
        visit = _depart(logdensity, metric, start, step_size)
        return LagrangianNode(visit.arrival, visit.leaving)

    def advance(
        self, logdensity: LogDensity, metric: Metric, node: LagrangianNode, step_size: Scalar
    ) -> LagrangianNode:
        """Drift to the next point; half a kick ends the step there, another half begins the next."""
        point, slope, arrival = _drift(logdensity, metric, node.phase, node.leaving, step_size)
        cost = metric.cost(arrival.velocity.size)
        bend = metric.bend(point, slope, arrival.velocity)
        velocity, bend, gained = metric.kick(point, slope, arrival.velocity, bend, 0.5 * step_size)
        phase = arrival._replace(velocity=velocity, log_volume=arrival.log_volume + gained)
        leaving, _, further = metric.kick(point, slope, velocity, bend, 0.5 * step_size)
        bends = 2 + cost.volume_bends
        phase = phase.costing(cost.point + cost.slope + bends * cost.bend)
        return LagrangianNode(phase, Motion(leaving, phase.log_volume + further))

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
        visit = jax.lax.fori_loop(
            0,
            num_steps,
            lambda _, visit: _pass(logdensity, metric, visit, step_size),
            _depart(logdensity, metric, start, step_size),
        )
        return _arrive(logdensity, metric, visit, step_size)

    def path(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: int) -> Phase:
        """Every end: row n is the end of a trajectory of n steps, row 0 its start."""

        def step(node: LagrangianNode, _: None) -> tuple[LagrangianNode, Phase]:
            node = self.advance(logdensity, metric, node, step_size)
            return node, node.phase

        def merged_step(visit: _Visit, _: None) -> tuple[_Visit, Phase]:
            visit = _pass(logdensity, metric, visit, step_size)
            return visit, _arrive(logdensity, metric, visit, step_size)

        first: Any = _depart(logdensity, metric, start, step_size)
        if self.scheme == "paper":
            _, ends = jax.lax.scan(step, LagrangianNode(first.arrival, first.leaving), length=num_steps)
        else:
            _, ends = jax.lax.scan(merged_step, first, length=num_steps)
        return with_start(start, ends)


def _depart(logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar) -> _Visit:
    """The first half kick, at a stored point."""
    point, cost = start.point, metric.cost(start.velocity.size)
    _, slope = metric.at(logdensity, point.position)
    bend = metric.bend(point, slope, start.velocity)
    velocity, _, gained = metric.kick(point, slope, start.velocity, bend, 0.5 * step_size)
    start = start.costing(cost.revisit + cost.slope + (1 + cost.volume_bends) * cost.bend)
    return _Visit(start, bend, Motion(velocity, start.log_volume + gained))


def _drift(
    logdensity: LogDensity, metric: Metric, phase: Phase, leaving: Motion, step_size: Scalar
) -> tuple[Any, Any, Phase]:
    """The next point, its slope, and the phase that arrives there."""
    position, velocity = drift(metric, phase.point, leaving.velocity, step_size)
    point, slope = metric.at(logdensity, position)
    arrival = phase._replace(point=point, velocity=velocity, log_volume=leaving.log_volume)
    # A path through a place without a density cannot be used, whatever its end.
    return point, slope, arrival.failed(~jnp.isfinite(point.logdensity), Failure.NOT_FINITE)


def _pass(logdensity: LogDensity, metric: Metric, visit: _Visit, step_size: Scalar) -> _Visit:
    """Drift to the next point and leave it with a whole kick."""
    point, slope, arrival = _drift(logdensity, metric, visit.arrival, visit.leaving, step_size)
    cost = metric.cost(arrival.velocity.size)
    bend = metric.bend(point, slope, arrival.velocity)
    velocity, _, gained = metric.kick(point, slope, arrival.velocity, bend, step_size)
    arrival = arrival.costing(cost.point + cost.slope + (1 + cost.volume_bends) * cost.bend)
    return _Visit(arrival, bend, Motion(velocity, arrival.log_volume + gained))


def _arrive(logdensity: LogDensity, metric: Metric, visit: _Visit, step_size: Scalar) -> Phase:
    """The last half kick. The slope is for the log-volume of metrics that make further bends for it; others skip it."""
    phase = visit.arrival
    cost = metric.cost(phase.velocity.size)
    _, slope = metric.at(logdensity, phase.point.position)
    velocity, _, gained = metric.kick(phase.point, slope, phase.velocity, visit.bend, 0.5 * step_size)
    phase = phase._replace(velocity=velocity, log_volume=phase.log_volume + gained)
    return phase.costing(cost.volume_bends * cost.bend)
