"""Riemannian manifold Hamiltonian Monte Carlo: implicit steps in any metric, each of them checked."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from mongepatch._typing import LogDensity, PRNGKey, Scalar
from mongepatch.errors import SettingError
from mongepatch.integrators import Failure, GeneralizedLeapfrog, Implicit, ImplicitMidpoint
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD, Algorithm, Info, State, algorithm, check_needs_trajectory
from mongepatch.kernels.dynamics import draw
from mongepatch.metrics import Metric
from mongepatch.settings import positive_number
from mongepatch.trajectories import Trajectory

ImplicitName: TypeAlias = Literal["leapfrog", "midpoint"]


@dataclass(frozen=True)
class RMHMC:
    """Riemannian manifold HMC.

    A step whose equations have no solution within the tolerance, or that does not lead back, ends the trajectory and is
    rejected; `non_convergent` and `non_reversible` in `sample_stats` count them.

    Args:
        integrator: `integrators.GeneralizedLeapfrog()` or `integrators.ImplicitMidpoint()`, with tolerances.
    """

    integrator: Implicit = field(default_factory=GeneralizedLeapfrog)
    name: ClassVar[str] = "rmhmc"

    def check(self, trajectory: Any) -> None:
        """Raise unless this is a trajectory."""
        check_needs_trajectory(self.name, trajectory)

    def step(
        self,
        key: PRNGKey,
        state: State,
        logdensity: LogDensity,
        metric: Metric,
        step_size: Scalar,
        trajectory: Trajectory,
        *,
        length_key: PRNGKey | None = None,
        divergence_threshold: float = DIVERGENCE_THRESHOLD,
    ) -> tuple[State, Info]:
        """One draw."""
        state, info, outcome = draw(
            key, state, logdensity, metric, step_size, trajectory, self.integrator, length_key, divergence_threshold
        )
        checks = {
            "non_convergent": outcome.failure == Failure.NON_CONVERGENT,
            "non_reversible": outcome.failure == Failure.NON_REVERSIBLE,
        }
        return state, info._replace(extra={**info.extra, **checks})


def rmhmc(
    logdensity: LogDensity,
    metric: Metric,
    step_size: Any,
    trajectory: Trajectory,
    *,
    integrator: ImplicitName = "leapfrog",
    tolerance: float | None = None,
    reversal_tolerance: float | None = None,
    divergence_threshold: float = DIVERGENCE_THRESHOLD,
) -> Algorithm:
    """Riemannian manifold HMC with its settings filled in, in the shape of BlackJAX's samplers.

    Args:
        logdensity: log density of a pytree of parameters; or a `Target`, whose states hold flat vectors.
        metric: any metric.
        step_size: ε > 0.
        trajectory: `Static(num_steps, jitter)` or `NUTS(max_depth)`.
        integrator: "leapfrog", the generalised one, or "midpoint", the implicit one.
        tolerance: how well a step must solve its equations; by default 1.5e-8 in double precision.
        reversal_tolerance: how near to its start a step must lead back; by default 1.2e-4 in double precision.
        divergence_threshold: the energy error above which a trajectory counts as divergent.
    """
    kinds: dict[str, type[Implicit]] = {"leapfrog": GeneralizedLeapfrog, "midpoint": ImplicitMidpoint}
    if integrator not in kinds:
        raise SettingError(f"integrator must be one of {get_args(ImplicitName)}; it is {integrator!r}.")
    for name, value in (("tolerance", tolerance), ("reversal_tolerance", reversal_tolerance)):
        if value is not None:
            positive_number(name, value)
    kernel = RMHMC(kinds[integrator](tolerance, reversal_tolerance))
    return algorithm(kernel, logdensity, metric, step_size, trajectory, divergence_threshold)
