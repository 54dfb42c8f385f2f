"""A kernel for `numpyro.infer.MCMC`: NUTS in the patch of a model, with NumPyro's own warm-up."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.metrics import Euclidean, Metric, Patch, fitted
from mongepatch.metrics.inverse_mass import Diagonal
from mongepatch.numpyro.base import ModelKernel
from mongepatch.targets import Target
from mongepatch.trajectories import Trajectory
from mongepatch.validation import number_at_least_zero


class PatchNUTS(ModelKernel):
    """NUTS in the patch of a model, a kernel for `numpyro.infer.MCMC`.

    In warm-up, dual averaging tunes the step size, and windows of growing length estimate the variances, the diagonal
    of M⁻¹. `mongepatch.sample` also chooses the metric, its α and the length of trajectories.

    Example:
        >>> import numpyro, numpyro.distributions as dist
        >>> from numpyro.infer import MCMC
        >>> from mongepatch.numpyro import PatchNUTS
        >>> def model(y):
        ...     tau = numpyro.sample("tau", dist.HalfNormal(1))
        ...     with numpyro.plate("group", len(y)):
        ...         theta = numpyro.sample("theta", dist.Normal(0, tau))
        ...         numpyro.sample("y", dist.Normal(theta, 1), obs=y)
        >>> mcmc = MCMC(PatchNUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
        >>> mcmc.run(jax.random.key(0), y=np.array([1.2, 0.4, 2.1]))
        >>> mcmc.get_samples()["theta"].shape
        (100, 3)

    Args:
        model: a NumPyro model; its arguments are those of `MCMC.run`.
        alpha: α of the patch M + α²JᵀJ of the model's residuals. A model without residuals has the metric M.
        metric: a function from the target and the variances to another metric.
        trajectory: the trajectory of each draw; `NUTS()` by default.
        step_size: the initial step size ε.
        target_accept_prob: the acceptance rate that the step size is tuned for.
    """

    def __init__(
        self,
        model: Callable[..., Any],
        *,
        alpha: float = 16.0,
        metric: Callable[[Target, Vector], Metric] | None = None,
        trajectory: Trajectory | None = None,
        step_size: float = 0.1,
        target_accept_prob: float = 0.9,
    ) -> None:
        super().__init__(model, trajectory=trajectory, step_size=step_size, target_accept_prob=target_accept_prob)
        self._alpha, self._metric = number_at_least_zero("alpha", alpha), metric
        self._patch: Patch | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but what each run makes again."""
        return {**super().__getstate__(), "_patch": None}

    def _prepare(self, target: Target) -> None:
        self._patch = None
        if self._metric is None and target.residuals is not None:
            position = jax.ShapeDtypeStruct((target.dimension,), jnp.result_type(float))
            self._patch = fitted(Patch(target.residuals, self._alpha), position)

    def _metric_with(self, variances: Vector) -> Metric:
        if self._metric is not None:
            return self._metric(self.target, variances)
        base = Diagonal(variances)
        return Euclidean(base) if self._patch is None else replace(self._patch, inverse_mass=base)
