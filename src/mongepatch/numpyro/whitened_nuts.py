"""A kernel for `numpyro.infer.MCMC`: NUTS in the whitened coordinates of a model, with NumPyro's own warm-up."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity, Scalar, Vector
from mongepatch.coordinates import WhitenedDensity, whitening_of
from mongepatch.coordinates.mode import whitened_at_mode
from mongepatch.errors import ModelError
from mongepatch.metrics import Euclidean, Metric
from mongepatch.metrics.inverse_mass import Diagonal
from mongepatch.numpyro.base import ModelKernel, random_start
from mongepatch.targets import Target
from mongepatch.trajectories import Trajectory


class WhitenedNUTS(ModelKernel):
    """NUTS in the whitened coordinates of a model, a kernel for `numpyro.infer.MCMC`.

    Hierarchies can be left centred: see `mongepatch.whiten`. What data says about the inner coordinates is found
    before warm-up, at the mode and around it. That is exact for normal data; for other data it affects how well
    chains move, and never what they sample. In warm-up, dual averaging tunes the step size, and windows of growing
    length estimate the variances, the diagonal of M⁻¹. `mongepatch.sample` also learns from the draws of warm-up.

    Chains start within 2 of 0 in every whitened coordinate, unless `init_params` are given. The field `z` of a state
    is in the model's own unconstrained coordinates, and so is `potential_energy`; `position` is in the whitened ones,
    and so is `energy`.

    Example:
        >>> import numpyro, numpyro.distributions as dist
        >>> from numpyro.infer import MCMC
        >>> from mongepatch.numpyro import WhitenedNUTS
        >>> def model(y):
        ...     tau = numpyro.sample("tau", dist.HalfNormal(1))
        ...     with numpyro.plate("group", len(y)):
        ...         theta = numpyro.sample("theta", dist.Normal(0, tau))
        ...         numpyro.sample("y", dist.Normal(theta, 1), obs=y)
        >>> mcmc = MCMC(WhitenedNUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
        >>> mcmc.run(jax.random.key(0), y=np.array([1.2, 0.4, 2.1]))
        >>> mcmc.get_samples()["theta"].shape
        (100, 3)

    Args:
        model: a NumPyro model; its arguments are those of `MCMC.run`.
        trajectory: the trajectory of each draw; `NUTS()` by default.
        step_size: the initial step size ε.
        target_accept_prob: the acceptance rate that the step size is tuned for.
    """

    def __init__(
        self,
        model: Callable[..., Any],
        *,
        trajectory: Trajectory | None = None,
        step_size: float = 0.1,
        target_accept_prob: float = 0.8,
    ) -> None:
        super().__init__(model, trajectory=trajectory, step_size=step_size, target_accept_prob=target_accept_prob)
        self._whitened: WhitenedDensity | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but what each run makes again."""
        return {**super().__getstate__(), "_whitened": None}

    def _prepare(self, target: Target) -> None:
        whitening = whitening_of(target, jax.ShapeDtypeStruct((target.dimension,), jnp.result_type(float)))
        if whitening is None:
            raise ModelError(
                "Nothing can be whitened: no variable of the model has residuals that are linear in it and change with "
                "other variables. Use PatchNUTS, or NumPyro's own NUTS."
            )
        # The key is always the same: chains, and runs that go on, have the same coordinates.
        start = random_start(target, whitening.initial, jax.random.key(0))
        self._whitened = whitened_at_mode(whitening, start)

    def _metric_with(self, variances: Vector) -> Metric:
        return Euclidean(Diagonal(variances))

    @property
    def _density(self) -> LogDensity:
        return self._whitened_density

    @property
    def _whitened_density(self) -> WhitenedDensity:
        assert self._whitened is not None  # made by init
        return self._whitened

    def _to_model(self, position: Vector) -> Vector:
        return self._whitened_density.to_model(position)

    def _from_model(self, position: Vector) -> Vector:
        return self._whitened_density.from_model(position)

    def _model_density(self, value: Scalar, position: Vector) -> Scalar:
        return self.target(position)
