"""Riemannian manifold Hamiltonian Monte Carlo: implicit steps in any metric, each of them checked."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import jax

from mongepatch._keywords import checked_keywords
from mongepatch._typing import LogDensity
from mongepatch.errors import SettingError
from mongepatch.integrators import Failure, GeneralizedLeapfrog, Implicit, ImplicitMidpoint
from mongepatch.kernels.algorithm import Algorithm, algorithm
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD
from mongepatch.kernels.trajectory_kernel import TrajectoryKernel
from mongepatch.metrics import Metric
from mongepatch.trajectories import Trajectory, Transition

ImplicitName: TypeAlias = Literal["leapfrog", "midpoint"]

_INTEGRATORS: dict[str, type[Implicit]] = {"leapfrog": GeneralizedLeapfrog, "midpoint": ImplicitMidpoint}


@dataclass(frozen=True)
class RMHMC(TrajectoryKernel):
    """Riemannian manifold HMC.

    A step whose equations have no solution within the tolerance, or that does not lead back, ends the trajectory and is
    rejected; `non_convergent` and `non_reversible` in `sample_stats` count them.

    Args:
        integrator: "leapfrog", the generalised one; "midpoint", the implicit one; or one of
            `integrators.GeneralizedLeapfrog` and `integrators.ImplicitMidpoint` with tolerances.
    """

    integrator: ImplicitName | Implicit = "leapfrog"
    name: ClassVar[str] = "rmhmc"

    def __post_init__(self) -> None:
        if isinstance(self.integrator, str) and self.integrator in _INTEGRATORS:
            object.__setattr__(self, "integrator", _INTEGRATORS[self.integrator]())
        if not isinstance(self.integrator, GeneralizedLeapfrog | ImplicitMidpoint):
            raise SettingError(
                f"integrator must be one of {get_args(ImplicitName)}, or an implicit integrator such as "
                f"mp.integrators.ImplicitMidpoint(); it is {self.integrator!r}."
            )

    def statistics(self, transition: Transition) -> dict[str, jax.Array]:
        """Which of the checks of an implicit step has failed."""
        return {
            "non_convergent": transition.failure == Failure.NON_CONVERGENT,
            "non_reversible": transition.failure == Failure.NON_REVERSIBLE,
        }


@checked_keywords
def rmhmc(
    logdensity: LogDensity,
    metric: Metric,
    step_size: Any,
    trajectory: Trajectory,
    *,
    integrator: ImplicitName | Implicit = "leapfrog",
    divergence_threshold: float = DIVERGENCE_THRESHOLD,
) -> Algorithm:
    """Riemannian manifold HMC with its settings filled in, in the shape of BlackJAX's samplers.

    Args:
        logdensity: log density of a pytree of parameters; or a `Target`, whose states hold flat vectors.
        metric: any metric.
        step_size: ε > 0.
        trajectory: `Static(num_steps, jitter)` or `NUTS(max_depth)`.
        integrator: "leapfrog", the generalised one; "midpoint", the implicit one; or one of
            `integrators.GeneralizedLeapfrog` and `integrators.ImplicitMidpoint` with tolerances.
        divergence_threshold: the energy error above which a trajectory counts as divergent.

    Example:
        >>> def logdensity(p):
        ...     return -0.5 * (p["a"] ** 2 + (p["b"] - p["a"]) ** 2)
        >>> algorithm = mp.rmhmc(logdensity, mp.Monge(0.5), step_size=0.3, trajectory=mp.Static(3))
        >>> state = algorithm.init({"a": 0.0, "b": 1.0})
        >>> state, info = jax.jit(algorithm.step)(jax.random.key(0), state)
    """
    return algorithm(RMHMC(integrator), logdensity, metric, step_size, trajectory, divergence_threshold)
