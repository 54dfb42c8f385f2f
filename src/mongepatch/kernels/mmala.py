"""The manifold Metropolis-adjusted Langevin algorithm, in any metric."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from mongepatch._keywords import checked_keywords
from mongepatch._random import normal_vector
from mongepatch._typing import LogDensity, PRNGKey, Scalar, Vector
from mongepatch.errors import SettingError
from mongepatch.integrators import Phase
from mongepatch.kernels.algorithm import Algorithm, algorithm
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD, Setup
from mongepatch.metrics import Metric
from mongepatch.metrics.base import kinetic
from mongepatch.trajectories import Transition
from mongepatch.trajectories.metropolis import metropolis


@dataclass(frozen=True)
class MMALA:
    """A Gaussian proposal per draw, N(x + ½ε²G⁻¹∇ℓ, ε²G⁻¹), and a Metropolis–Hastings test.

    It needs no derivative of the metric: in the Monge metric one gradient per draw and O(D) arithmetic.
    """

    name: ClassVar[str] = "mmala"

    def check(self, trajectory: Any) -> None:
        """Raise if there is a trajectory: a draw is one step."""
        if trajectory is not None:
            raise SettingError('The kernel "mmala" makes one step per draw and takes no trajectory.')

    def step(self, key: PRNGKey, point: Any, setup: Setup, length_key: PRNGKey | None = None) -> Transition:
        """One draw."""
        noise_key, accept_key = jax.random.split(key)
        metric, step_size, x = setup.metric, setup.step_size, point.position
        # In units of ε a proposal is a velocity: the drift ½εG⁻¹∇ℓ and a draw from N(0, G⁻¹).
        noise = metric.velocity_from_noise(point, normal_vector(noise_key, x.size, x.dtype))
        velocity = _drift(metric, point, step_size) + noise
        end, _ = metric.at(setup.logdensity, x + step_size * velocity)
        noise_back = -velocity - _drift(metric, end, step_size)
        there, return_ = (
            0.5 * metric.log_det(place) - kinetic(metric, place, thrown)
            for place, thrown in ((point, noise), (end, noise_back))
        )
        log_ratio = (end.logdensity - point.logdensity) + (return_ - there)
        return metropolis(
            accept_key,
            Phase.start(point, noise),
            Phase.start(end, -noise_back),
            log_ratio,
            setup.divergence_threshold,
            log_volume=jnp.zeros((), x.dtype),
            n_steps=jnp.int32(1),
            n_grad=metric.cost(x.size).point,
        )


@checked_keywords
def mmala(
    logdensity: LogDensity, metric: Metric, step_size: Any, *, divergence_threshold: float = DIVERGENCE_THRESHOLD
) -> Algorithm:
    """Manifold MALA with its settings filled in, in the shape of BlackJAX's samplers.

    The proposal is N(x + ½ε²G⁻¹∇ℓ, ε²G⁻¹). In the Euclidean metric this is MALA.

    Args:
        logdensity: log density of a pytree of parameters; or a `Target`, whose states hold flat vectors.
        metric: any metric.
        step_size: ε > 0.
        divergence_threshold: minus the log of the acceptance ratio above which a draw counts as divergent.

    Example:
        >>> def logdensity(p):
        ...     return -0.5 * (p["a"] ** 2 + (p["b"] - p["a"]) ** 2)
        >>> algorithm = mp.mmala(logdensity, mp.Monge(0.5), step_size=0.5)
        >>> state = algorithm.init({"a": 0.0, "b": 1.0})
        >>> state, info = jax.jit(algorithm.step)(jax.random.key(0), state)
    """
    return algorithm(MMALA(), logdensity, metric, step_size, None, divergence_threshold)


def _drift(metric: Metric, point: Any, step_size: Scalar) -> Vector:
    """½εG⁻¹∇ℓ."""
    return 0.5 * step_size * metric.velocity(point, point.gradient)
