"""Riemannian manifold HMC with explicit steps in a doubled phase space, made exact.

Cobb et al. (2019, see `integrators.explicit_symplectic`) start two copies of the system at one phase and accept an end
by one copy's energy. That map is not reversible: its end holds two phases, and only one of them is kept. Here the
difference of the copies is a random variable like any other: it is drawn from a narrow Gaussian for every trajectory,
and its density is a part of the acceptance. The middle of the copies is the draw. The map of middle and difference is
then reversible and preserves volume, and the draw is exact whatever the binding and the width.

A step changes the difference by about ε² times what the metric and the forces are there. The Gaussian has a width in
proportion to ε, so that the change of its density vanishes with ε, and every trajectory is accepted in the end. With a
width in proportion to ε² a stiff place rejects whatever ε is, and warm-up shortens steps without end.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from mongepatch._keywords import checked_keywords
from mongepatch._linalg import dot
from mongepatch._random import normal_vector
from mongepatch._typing import LogDensity, PRNGKey
from mongepatch.errors import SettingError
from mongepatch.integrators import Phase
from mongepatch.integrators.explicit_symplectic import Doubled, ExplicitSymplectic
from mongepatch.kernels.algorithm import Algorithm, algorithm
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD, Setup, check_needs_trajectory
from mongepatch.metrics import Metric, hamiltonian
from mongepatch.trajectories import Static, Transition
from mongepatch.trajectories.metropolis import metropolis
from mongepatch.validation import positive_number


@dataclass(frozen=True)
class ExplicitRMHMC:
    """Riemannian manifold HMC with explicit steps.

    Args:
        binding: 2ωε, the angle in radians by which a step turns the difference of the copies, ω being the strength of
            the binding. About 1 is best: with less the copies part, with more their errors no longer cancel.
        width: standard deviation of the difference of the copies at the start, in units of ε.
        stiffness: typical size of the metric, 1/variance of a typical parameter.
    """

    binding: float = 1.0
    width: float = 2.0
    stiffness: float = 1.0
    name: ClassVar[str] = "explicit-rmhmc"

    def __post_init__(self) -> None:
        for name in ("binding", "width", "stiffness"):
            object.__setattr__(self, name, float(positive_number(name, getattr(self, name))))

    def check(self, trajectory: Any) -> None:
        """Raise unless the trajectory is a static one: the doubled orbit is not one of phases."""
        check_needs_trajectory(self.name, trajectory)
        if not isinstance(trajectory, Static):
            raise SettingError(f'The kernel "{self.name}" needs an mp.Static trajectory; it is {trajectory!r}.')

    def step(self, key: PRNGKey, point: Any, setup: Setup, length_key: PRNGKey | None = None) -> Transition:
        """One draw."""
        velocity_key, apart_key, accept_key, own_length_key = jax.random.split(key, 4)
        metric, dtype, dimension = setup.metric, point.position.dtype, point.position.size
        width = self.width * setup.step_size
        integrator = ExplicitSymplectic(self.binding, self.stiffness)

        velocity = metric.velocity_from_noise(point, normal_vector(velocity_key, dimension, dtype))
        widths = width / self.stiffness**0.5, width * self.stiffness**0.5  # of positions, of momenta
        apart = jnp.stack(widths)[:, None] * jax.random.normal(apart_key, (2, dimension), dtype)
        num_steps = setup.trajectory.length(own_length_key if length_key is None else length_key)
        first = Doubled.around(point.position, metric.momentum(point, velocity), *apart)
        last = integrator.run(setup.logdensity, metric, first, setup.step_size, num_steps)

        position, momentum = last.middle()
        end, _ = metric.at(setup.logdensity, position)
        start, proposed = Phase.start(point, velocity), Phase.start(end, metric.velocity(end, momentum))
        energies = [hamiltonian(metric, phase.point, phase.velocity) for phase in (start, proposed)]
        spread = [0.5 * sum(dot(d, d) / w**2 for d, w in zip(z.apart(), widths, strict=True)) for z in (first, last)]
        log_ratio = (energies[0] - energies[1]) + (spread[0] - spread[1])
        return metropolis(
            accept_key,
            start,
            proposed,
            log_ratio,
            setup.divergence_threshold,
            log_volume=metric.log_det(point) - metric.log_det(end),
            n_steps=num_steps,
            n_grad=integrator.n_grad(metric, dimension, num_steps) + metric.cost(dimension).point,
        )


@checked_keywords
def explicit_rmhmc(
    logdensity: LogDensity,
    metric: Metric,
    step_size: Any,
    trajectory: Static,
    *,
    binding: float = 1.0,
    width: float = 2.0,
    stiffness: float = 1.0,
    divergence_threshold: float = DIVERGENCE_THRESHOLD,
) -> Algorithm:
    """Explicit Riemannian manifold HMC with its settings filled in, in the shape of BlackJAX's samplers.

    Args:
        logdensity: log density of a pytree of parameters; or a `Target`, whose states hold flat vectors.
        metric: any metric.
        step_size: ε > 0.
        trajectory: `Static(num_steps, jitter)`.
        binding: 2ωε, how tightly the two copies of the system are bound: the angle that their difference turns in a
            step, best about 1.
        width: how far apart the copies start, in units of ε.
        stiffness: typical size of the metric, 1/variance of a typical parameter.
        divergence_threshold: the energy error above which a trajectory counts as divergent.

    Example:
        >>> def logdensity(p):
        ...     return -0.5 * (p["a"] ** 2 + (p["b"] - p["a"]) ** 2)
        >>> algorithm = mp.explicit_rmhmc(logdensity, mp.Monge(0.5), step_size=0.2, trajectory=mp.Static(5))
        >>> state = algorithm.init({"a": 0.0, "b": 1.0})
        >>> state, info = jax.jit(algorithm.step)(jax.random.key(0), state)
    """
    return algorithm(
        ExplicitRMHMC(binding, width, stiffness), logdensity, metric, step_size, trajectory, divergence_threshold
    )
