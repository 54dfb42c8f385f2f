"""Explicit symplectic steps for Hamiltonians that cannot be split, in a doubled phase space.

The idea is that of Tao, M. (2016). Explicit symplectic approximation of nonseparable Hamiltonians. Physical Review E
94, 043303. Its use in sampling is that of Cobb, A. D., Baydin, A. G., Markham, A. and Roberts, S. J. (2019).
Introducing an explicit symplectic integration scheme for Riemannian manifold Hamiltonian Monte Carlo. arXiv:1910.06243.

Two copies of the system, (x, p) and (y, q), move each other: H(x, q) moves p and y, H(y, p) moves q and x, and each of
these flows is explicit. A binding of strength ω keeps the copies together: it turns their difference in circles.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, CountLike, LogDensity, Scalar, Vector
from mongepatch.metrics import Metric


class Doubled(NamedTuple):
    """Two copies of position and momentum."""

    x: Vector
    p: Vector
    y: Vector
    q: Vector

    @classmethod
    def around(cls, position: Vector, momentum: Vector, apart: Vector, apart_momentum: Vector) -> "Doubled":
        """The copies with this middle and difference."""
        d, e = 0.5 * apart, 0.5 * apart_momentum
        return cls(position - d, momentum - e, position + d, momentum + e)

    def middle(self) -> tuple[Vector, Vector]:
        """The mean of the copies."""
        return 0.5 * (self.x + self.y), 0.5 * (self.p + self.q)

    def apart(self) -> tuple[Vector, Vector]:
        """The difference of the copies."""
        return self.y - self.x, self.q - self.p


class _Flow(NamedTuple):
    """Rates of change that one copy gives to the other."""

    position: Vector
    momentum: Vector


@dataclass(frozen=True)
class ExplicitSymplectic:
    """A(ε/2) B(ε/2) C(ε) B(ε/2) A(ε/2), with A the flow of H(x, q), B that of H(y, p) and C the binding.

    Reversible, of second order, and without volume change in the doubled space. Adjacent A's share their evaluation, so
    that a step evaluates three forces.

    Args:
        binding: 2ωε, the angle in radians by which a step turns the difference of the copies.
        stiffness: the size of momenta relative to positions, which the binding turns into each other.
    """

    binding: float
    stiffness: float

    def run(
        self, logdensity: LogDensity, metric: Metric, start: Doubled, step_size: Scalar, num_steps: CountLike
    ) -> Doubled:
        """The end of a trajectory of `num_steps` ≥ 1 steps."""
        half = 0.5 * step_size
        # Backwards in time the difference turns the other way.
        angle = jnp.sign(step_size) * self.binding
        cos, sin = jnp.cos(angle), jnp.sin(angle)

        def flow(position: Vector, momentum: Vector) -> _Flow:
            point, slope = metric.at(logdensity, position)
            velocity = metric.velocity(point, momentum)
            return _Flow(velocity, metric.force(point, slope, velocity))

        def move_second(z: Doubled, rate: _Flow) -> Doubled:
            return z._replace(p=z.p + half * rate.momentum, y=z.y + half * rate.position)

        def move_first(z: Doubled) -> Doubled:
            rate = flow(z.y, z.p)
            return z._replace(q=z.q + half * rate.momentum, x=z.x + half * rate.position)

        def bind(z: Doubled) -> Doubled:
            d, e = z.apart()
            turned = cos * d + sin * e / self.stiffness, cos * e - sin * d * self.stiffness
            return Doubled.around(*z.middle(), *turned)

        def body(_: Count, carry: tuple[Doubled, _Flow]) -> tuple[Doubled, _Flow]:
            z, rate = carry
            z = move_first(bind(move_first(move_second(z, rate))))
            rate = flow(z.x, z.q)
            return move_second(z, rate), rate

        end, _ = jax.lax.fori_loop(0, num_steps, body, (start, flow(start.x, start.q)))
        return end

    def n_grad(self, metric: Metric, dimension: int, num_steps: CountLike) -> Count:
        """Gradient-equivalents of a trajectory."""
        cost = metric.cost(dimension)
        return jnp.asarray((3 * num_steps + 1) * (cost.point + cost.slope + cost.force))
