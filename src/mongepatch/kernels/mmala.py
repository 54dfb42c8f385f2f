"""The manifold Metropolis-adjusted Langevin algorithm, in any metric."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity, PRNGKey, Scalar, Vector
from mongepatch.errors import SettingError
from mongepatch.integrators import Phase
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD, Algorithm, Info, State, algorithm, finish
from mongepatch.metrics import Metric, fitted
from mongepatch.metrics.base import kinetic
from mongepatch.targets.layout import Layout
from mongepatch.trajectories.base import classify
from mongepatch.trajectories.metropolis import metropolis


@dataclass(frozen=True)
class MMALA:
    """A Gaussian proposal a draw, N(x + ½ε²G⁻¹∇ℓ, ε²G⁻¹), and a Metropolis–Hastings test.

    It needs no derivative of the metric: in the Monge metric one gradient a draw and O(D) arithmetic.
    """

    name: ClassVar[str] = "mmala"

    def check(self, trajectory: Any) -> None:
        """Raise if there is a trajectory: a draw is one step."""
        if trajectory is not None:
            raise SettingError('The kernel "mmala" makes one step a draw and takes no trajectory.')

    def step(
        self,
        key: PRNGKey,
        state: State,
        logdensity: LogDensity,
        metric: Metric,
        step_size: Scalar,
        trajectory: None = None,
        *,
        length_key: PRNGKey | None = None,
        divergence_threshold: float = DIVERGENCE_THRESHOLD,
    ) -> tuple[State, Info]:
        """One draw."""
        noise_key, accept_key = jax.random.split(key)
        start, layout = state.point, Layout.of(state.position)
        dtype = start.position.dtype
        metric = fitted(metric, start.position)
        step_size = jnp.asarray(step_size, dtype)

        def density(x: Vector) -> Scalar:
            return logdensity(layout.tree(x))

        # In units of ε a proposal is a velocity: the drift ½εG⁻¹∇ℓ and a draw from N(0, G⁻¹).
        thrown = metric.velocity_from_noise(start, jax.random.normal(noise_key, start.position.shape, dtype))
        velocity = _drift(metric, start, step_size) + thrown
        end, _ = metric.at(density, start.position + step_size * velocity)
        back = -velocity - _drift(metric, end, step_size)
        there, return_ = (
            0.5 * metric.log_det(point) - kinetic(metric, point, noise)
            for point, noise in ((start, thrown), (end, back))
        )
        log_ratio = (end.logdensity - start.logdensity) + (return_ - there)
        failure = classify(log_ratio, Phase.start(end, velocity), -log_ratio > divergence_threshold)
        decision = metropolis(accept_key, log_ratio, failure)
        before, after = (
            -point.logdensity + 0.5 * metric.log_det(point) + kinetic(metric, point, noise)
            for point, noise in ((start, thrown), (end, -back))
        )
        return finish(
            layout,
            decision.choose(end, start),
            metric,
            step_size,
            acceptance_rate=decision.acceptance_rate,
            accepted=decision.accepted,
            n_steps=jnp.int32(1),
            n_grad=metric.cost(start.position.size).point,
            failure=failure,
            energy=jnp.where(decision.accepted, after, before),
            log_ratio=log_ratio,
            log_volume=jnp.zeros((), dtype),
            extra={},
        )


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
    """
    return algorithm(MMALA(), logdensity, metric, step_size, None, divergence_threshold)


def _drift(metric: Metric, point: Any, step_size: Scalar) -> Vector:
    """½εG⁻¹∇ℓ."""
    return 0.5 * step_size * metric.velocity(point, point.gradient)
