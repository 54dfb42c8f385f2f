"""Lagrangian Monte Carlo in any metric. In the Euclidean metric it is Hamiltonian Monte Carlo."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mongepatch._keywords import checked_keywords
from mongepatch._typing import LogDensity
from mongepatch.integrators import Lagrangian, Scheme
from mongepatch.kernels.algorithm import Algorithm, algorithm
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD
from mongepatch.kernels.trajectory_kernel import TrajectoryKernel
from mongepatch.metrics import Metric
from mongepatch.trajectories import Trajectory


@dataclass(frozen=True)
class LMC(TrajectoryKernel):
    """Lagrangian Monte Carlo: explicit steps, whose volume change is a part of the acceptance.

    Args:
        scheme: "merged" (one kick at interior points of a `Static` trajectory) or "paper" (two).
    """

    scheme: Scheme = "merged"
    name: ClassVar[str] = "lmc"

    def __post_init__(self) -> None:
        Lagrangian(self.scheme)  # refuses an unknown scheme

    @property
    def integrator(self) -> Lagrangian:
        """Kick–drift–kick."""
        return Lagrangian(self.scheme)


@checked_keywords
def lmc(
    logdensity: LogDensity,
    metric: Metric,
    step_size: Any,
    trajectory: Trajectory,
    *,
    scheme: Scheme = "merged",
    divergence_threshold: float = DIVERGENCE_THRESHOLD,
) -> Algorithm:
    """Lagrangian Monte Carlo with its settings filled in, in the shape of BlackJAX's samplers.

    `init(position)` makes a state and `step(key, state)` the next one with its `Info`. Both are pure and can be used
    inside `jax.jit`, `jax.vmap` and `jax.lax.scan`, and by `blackjax.util.run_inference_algorithm`. All settings but
    the scheme and those of `NUTS` may be traced values.

    Args:
        logdensity: log density of a pytree of parameters; or a `Target`, whose states hold flat vectors.
        metric: `Euclidean(...)` for HMC, `Monge(alpha, ...)`, any other, or a metric of your own.
        step_size: ε > 0.
        trajectory: `Static(num_steps, jitter)` or `NUTS(max_depth)`.
        scheme: "merged" (one kick at interior points of a `Static` trajectory) or "paper" (two).
        divergence_threshold: the energy error above which a trajectory counts as divergent.

    Example:
        >>> def logdensity(p):
        ...     return -0.5 * (p["a"] ** 2 + (p["b"] - p["a"]) ** 2)
        >>> algorithm = mp.lmc(logdensity, mp.Monge(0.5), step_size=0.3, trajectory=mp.Static(5))
        >>> state = algorithm.init({"a": 0.0, "b": 1.0})
        >>> state, info = jax.jit(algorithm.step)(jax.random.key(0), state)
    """
    return algorithm(LMC(scheme), logdensity, metric, step_size, trajectory, divergence_threshold)
