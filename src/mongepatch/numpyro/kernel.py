"""A kernel for `numpyro.infer.MCMC`: NUTS in the patch of a model, with NumPyro's own warm-up."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro.infer.hmc_util import warmup_adapter
from numpyro.infer.mcmc import MCMCKernel
from numpyro.util import is_prng_key

from mongepatch._typing import PRNGKey, Vector
from mongepatch.errors import LogDensityError, ModelError
from mongepatch.frontends.numpyro.build import build
from mongepatch.kernels import LMC, Setup, draw
from mongepatch.metrics import Euclidean, Metric, Patch, fitted
from mongepatch.metrics.inverse_mass import Diagonal
from mongepatch.program import jit
from mongepatch.targets import Target
from mongepatch.trajectories import NUTS, Trajectory
from mongepatch.validation import number_at_least_zero

_STARTS = 32
"""Number of starting points to try per chain: the log density may not be finite at some of them."""


class PatchState(NamedTuple):
    """The state of a chain: the last draw, its statistics, and the state of the adaptation."""

    i: Any
    z: dict[str, jax.Array]
    """The draw in unconstrained coordinates, by site."""
    potential_energy: Any
    energy: Any
    num_steps: Any
    accept_prob: Any
    mean_accept_prob: Any
    diverging: Any
    adapt_state: Any
    """Step size and variances, as NumPyro's own samplers have them."""
    rng_key: PRNGKey


class PatchNUTS(MCMCKernel):  # type: ignore[misc]  # numpyro has no types
    """NUTS in the patch of a model, a kernel for `numpyro.infer.MCMC`.

    In warm-up, dual averaging tunes the step size, and windows of growing length estimate the variances, the diagonal
    of M⁻¹. `mongepatch.sample` also chooses the metric, its α and the length of trajectories.

    Example:
        >>> mcmc = MCMC(PatchNUTS(model), num_warmup=500, num_samples=500)
        >>> mcmc.run(jax.random.key(0), y=y)
        >>> draws = mcmc.get_samples()

    Args:
        model: a NumPyro model; its arguments are those of `MCMC.run`.
        alpha: α of the patch M + α²JᵀJ of the model's residuals. A model without residuals has the metric M.
        metric: a function from the target and the variances to another metric.
        trajectory: the trajectory of each draw; `NUTS()` by default.
        step_size: the initial step size ε.
        target_accept_prob: the acceptance rate that the step size is tuned for.
    """

    sample_field = "z"

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
        self.model = model
        self._alpha, self._metric = number_at_least_zero("alpha", alpha), metric
        self._trajectory = NUTS() if trajectory is None else trajectory
        self._step_size, self._target_accept_prob = step_size, target_accept_prob
        self._num_warmup = 0
        self._adapt: Callable[..., Any] | None = None
        self._target: Target | None = None
        self._patch: Patch | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but the target, the metric and the adaptation, which each run makes again."""
        return {**self.__dict__, "_adapt": None, "_target": None, "_patch": None}

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Fields that are kept for every draw."""
        return ("z", "diverging")

    def get_diagnostics_str(self, state: PatchState) -> str:
        """The text of the progress bar."""
        step_size = state.adapt_state.step_size
        return f"{state.num_steps} steps of size {step_size:.2e}. acc. prob={state.mean_accept_prob:.2f}"

    def init(
        self, rng_key: PRNGKey, num_warmup: int, init_params: Any, model_args: Any, model_kwargs: Any
    ) -> PatchState:
        """The first state of a chain, or of several where there are several keys."""
        with jax.ensure_compile_time_eval():  # chains may be mapped over; the model and its data are not
            self._target = build(self.model, model_args, model_kwargs or {})
            self._patch = self._patch_of(self._target) if self._metric is None else None
        begin, self._adapt = warmup_adapter(num_warmup, target_accept_prob=self._target_accept_prob)
        self._num_warmup = num_warmup

        def first(key: PRNGKey, params: Any) -> PatchState:
            run_key, start_key, adapt_key = jax.random.split(key, 3)
            x = _start(self.target, start_key) if params is None else _flat(self.target, params)
            value, zero = self.target(x), jnp.zeros((), x.dtype)
            adapt_state = begin((x,), adapt_key, jnp.asarray(self._step_size, x.dtype), jnp.ones_like(x))
            z, count = self.target.layout.named(x), jnp.asarray(0)
            return PatchState(count, z, -value, -value, count, zero, zero, jnp.asarray(False), adapt_state, run_key)

        if not is_prng_key(rng_key):
            first = jax.vmap(first, (0, None if init_params is None else 0))
        state = first(rng_key, init_params)
        if not isinstance(state.potential_energy, jax.core.Tracer) and not jnp.isfinite(state.potential_energy).all():
            raise LogDensityError("The log density is not finite where a chain starts. Give init_params.")
        return state

    def sample(self, state: PatchState, model_args: Any, model_kwargs: Any) -> PatchState:
        """The next state."""
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((model_args, model_kwargs))):
            raise ModelError("PatchNUTS reads the model's arguments when MCMC.run begins: leave jit_model_args=False.")
        return self._next(state) if is_prng_key(state.rng_key) else jit(jax.vmap(self._next))(state)

    def postprocess_fn(self, model_args: Any, model_kwargs: Any) -> Callable[[dict[str, jax.Array]], Any]:
        """A function from unconstrained values to the model's variables, deterministic sites included."""
        constrain = self.target.constrain
        assert constrain is not None  # a model's target has one
        return lambda z: constrain(_flat(self.target, z))

    @property
    def target(self) -> Target:
        """The model with the arguments of the run."""
        if self._target is None:
            raise ModelError("PatchNUTS has no target before MCMC.run gives it the model's arguments.")
        return self._target

    def _patch_of(self, target: Target) -> Patch | None:
        if target.residuals is None:
            return None
        position = jax.ShapeDtypeStruct((target.dimension,), jnp.result_type(float))
        return fitted(Patch(target.residuals, self._alpha), position)

    def _metric_with(self, variances: Vector) -> Metric:
        if self._metric is not None:
            return self._metric(self.target, variances)
        base = Diagonal(variances)
        return Euclidean(base) if self._patch is None else replace(self._patch, inverse_mass=base)

    def _next(self, state: PatchState) -> PatchState:
        next_key, key = jax.random.split(state.rng_key)
        adapt_state, x = state.adapt_state, _flat(self.target, state.z)
        metric = fitted(self._metric_with(adapt_state.inverse_mass_matrix), x)
        point, _ = metric.at(self.target, x)  # made anew, since in warm-up the metric changes
        setup = Setup(self.target, metric, adapt_state.step_size, self._trajectory)
        after, info = draw(LMC(), key, point, setup)
        accept_prob = jnp.where(jnp.isfinite(info.acceptance_rate), info.acceptance_rate, 0.0)
        adapting, adapt = state.i < self._num_warmup, self._adapt
        assert adapt is not None  # made by init, without which there is no state
        adapt_state = jax.lax.cond(
            adapting, lambda s: adapt(state.i, accept_prob, (after.position,), s), lambda s: s, adapt_state
        )
        draws = jnp.where(adapting, state.i, state.i - self._num_warmup) + 1
        return PatchState(
            state.i + 1,
            self.target.layout.named(after.position),
            -info.lp,
            info.energy,
            info.n_steps,
            accept_prob,
            state.mean_accept_prob + (accept_prob - state.mean_accept_prob) / draws,
            info.diverging,
            adapt_state,
            next_key,
        )


def _flat(target: Target, z: dict[str, jax.Array]) -> Vector:
    return jnp.concatenate([jnp.ravel(z[name]) for name in target.layout.names])


def _start(target: Target, key: PRNGKey) -> Vector:
    """The first of some random points at which density and gradient are finite."""
    assert target.start is not None  # a model's target has one
    points = jax.vmap(target.start)(jax.random.split(key, _STARTS))
    values, gradients = jax.vmap(jax.value_and_grad(target))(points)
    return points[jnp.argmax(jnp.isfinite(values) & jnp.isfinite(gradients).all(axis=1))]
