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

from mongepatch._typing import Count, LogDensity, Scalar, Vector
from mongepatch.errors import SettingError
from mongepatch.metrics import Bend, Metric

Scheme: TypeAlias = Literal["merged", "paper"]


class Motion(NamedTuple):
    """What kicks change at a fixed position: the velocity, and the log-volume gathered so far."""

    velocity: Vector
    log_volume: Scalar


class Phase(NamedTuple):
    """A position with its geometry, and the motion there."""

    point: Any
    motion: Motion

    @classmethod
    def start(cls, point: Any, velocity: Vector) -> "Phase":
        """The first phase of a trajectory, before any volume has changed."""
        return cls(point, Motion(velocity, jnp.zeros((), velocity.dtype)))


class _Visit(NamedTuple):
    """One point of a trajectory: the phase that arrives there, the bend of its velocity, and the motion that leaves."""

    arrival: Phase
    bend: Bend
    leaving: Motion


@dataclass(frozen=True)
class Lagrangian:
    """Kick–drift–kick in the metric's own geometry.

    Args:
        scheme: "merged" makes one whole kick at interior points: in the Monge metric 1 gradient and 2 Hessian-vector
            products a step. "paper" makes two half kicks there, at 1 gradient and 3 products.
    """

    scheme: Scheme = "merged"

    def __post_init__(self) -> None:
        if self.scheme not in get_args(Scheme):
            raise SettingError(f"scheme must be one of {get_args(Scheme)}; it is {self.scheme!r}.")

    def run(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: Count) -> Phase:
        """The end of a trajectory of `num_steps` ≥ 1 steps, which may be traced."""
        first = _depart(logdensity, metric, start, step_size)
        last = jax.lax.fori_loop(
            0, num_steps, lambda _, visit: self._advance(logdensity, metric, visit, step_size), first
        )
        return _arrive(metric, last, step_size)

    def path(self, logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar, num_steps: int) -> Phase:
        """Every end: row n is the end of a trajectory of n steps, row 0 its start."""

        def body(visit: _Visit, _: None) -> tuple[_Visit, Phase]:
            visit = self._advance(logdensity, metric, visit, step_size)
            return visit, _arrive(metric, visit, step_size)

        _, ends = jax.lax.scan(body, _depart(logdensity, metric, start, step_size), length=num_steps)
        rows: Phase = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, ends)
        return rows

    def n_grad(self, metric: Metric, num_steps: Count) -> Count:
        """Gradient-equivalents of a trajectory that starts from a stored point."""
        cost = metric.cost
        bends = 1 if self.scheme == "merged" else 2
        return cost.revisit + cost.bend + num_steps * (cost.point + bends * cost.bend)

    def _advance(self, logdensity: LogDensity, metric: Metric, visit: _Visit, step_size: Scalar) -> _Visit:
        """Drift to the next point and get ready to leave it."""
        motion = visit.leaving
        point, bend_of = metric.at(logdensity, visit.arrival.point.position + step_size * motion.velocity)
        # A path through a place without a density cannot be used, whatever its end: its volume says so.
        motion = motion._replace(log_volume=jnp.where(jnp.isfinite(point.logdensity), motion.log_volume, jnp.nan))
        bend = bend_of(motion.velocity)
        if self.scheme == "merged":
            leaving = _kick(metric, point, motion, bend, step_size)
        else:
            middle = _kick(metric, point, motion, bend, 0.5 * step_size)
            leaving = _kick(metric, point, middle, bend_of(middle.velocity), 0.5 * step_size)
        return _Visit(Phase(point, motion), bend, leaving)


def _depart(logdensity: LogDensity, metric: Metric, start: Phase, step_size: Scalar) -> _Visit:
    """The first half kick, at a stored point."""
    point, motion = start
    _, bend_of = metric.at(logdensity, point.position)
    bend = bend_of(motion.velocity)
    return _Visit(start, bend, _kick(metric, point, motion, bend, 0.5 * step_size))


def _arrive(metric: Metric, visit: _Visit, step_size: Scalar) -> Phase:
    """The last half kick."""
    point, motion = visit.arrival
    return Phase(point, _kick(metric, point, motion, visit.bend, 0.5 * step_size))


def _kick(metric: Metric, point: Any, motion: Motion, bend: Bend, length: Scalar) -> Motion:
    velocity, gained = metric.kick(point, motion.velocity, bend, length)
    return Motion(velocity, motion.log_volume + gained)
