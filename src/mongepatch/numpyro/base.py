"""What kernels for `numpyro.infer.MCMC` share: NumPyro's warm-up around the library's draws."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro.infer.hmc_util import warmup_adapter
from numpyro.infer.mcmc import MCMCKernel
from numpyro.util import is_prng_key

from mongepatch._typing import LogDensity, PRNGKey, Scalar, Vector
from mongepatch.errors import LogDensityError, ModelError
from mongepatch.frontends.numpyro.build import build
from mongepatch.kernels import LMC, Setup, draw
from mongepatch.metrics import Metric, fitted
from mongepatch.program import jit
from mongepatch.targets import Target
from mongepatch.trajectories import NUTS, Trajectory

_STARTS = 32
"""Number of starting points to try per chain: the log density may not be finite at some of them."""


class KernelState(NamedTuple):
    """The state of a chain: the last draw, its statistics, and the state of the adaptation."""

    i: Any
    z: dict[str, jax.Array]
    """The draw in the model's unconstrained coordinates, by site."""
    position: jax.Array
    """The draw in the coordinates that the chain moves in, flat."""
    potential_energy: Any
    """Minus the model's log density at `z`."""
    energy: Any
    num_steps: Any
    accept_prob: Any
    mean_accept_prob: Any
    diverging: Any
    adapt_state: Any
    """Step size and variances, as NumPyro's own samplers have them."""
    rng_key: PRNGKey


class ModelKernel(MCMCKernel):  # type: ignore[misc]  # numpyro has no types
    """LMC for the log density of a model. Subclasses say in which coordinates chains move, and in which metric.

    In warm-up, dual averaging tunes the step size, and windows of growing length estimate the variances, the diagonal
    of M⁻¹ in the coordinates that chains move in.

    Args:
        model: a NumPyro model; its arguments are those of `MCMC.run`.
        trajectory: the trajectory of each draw; `NUTS()` by default.
        step_size: the initial step size ε.
        target_accept_prob: the acceptance rate that the step size is tuned for.
    """

    sample_field = "z"

    def __init__(
        self,
        model: Callable[..., Any],
        *,
        trajectory: Trajectory | None,
        step_size: float,
        target_accept_prob: float,
    ) -> None:
        self.model = model
        self._trajectory = NUTS() if trajectory is None else trajectory
        self._step_size, self._target_accept_prob = step_size, target_accept_prob
        self._num_warmup = 0
        self._adapt: Callable[..., Any] | None = None
        self._target: Target | None = None

    @abstractmethod
    def _prepare(self, target: Target) -> None:
        """Make what each run needs anew. The model and its data are concrete."""

    @abstractmethod
    def _metric_with(self, variances: Vector) -> Metric:
        """The metric whose M⁻¹ has this diagonal."""

    @property
    def _density(self) -> LogDensity:
        """The log density in the coordinates that chains move in."""
        return self.target

    def _to_model(self, position: Vector) -> Vector:
        """The model's own coordinates of a position."""
        return position

    def _from_model(self, position: Vector) -> Vector:
        """The position of a point in the model's own coordinates."""
        return position

    def _model_density(self, value: Scalar, position: Vector) -> Scalar:
        """The model's log density at a position in its own coordinates, from that in those that chains move in."""
        return value

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but what each run makes again."""
        return {**self.__dict__, "_adapt": None, "_target": None}

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Fields that are kept for every draw."""
        return ("z", "diverging")

    def get_diagnostics_str(self, state: KernelState) -> str:
        """The text of the progress bar."""
        step_size = state.adapt_state.step_size
        return f"{state.num_steps} steps of size {step_size:.2e}. acc. prob={state.mean_accept_prob:.2f}"

    def init(
        self, rng_key: PRNGKey, num_warmup: int, init_params: Any, model_args: Any, model_kwargs: Any
    ) -> KernelState:
        """The first state of a chain, or of several where there are several keys."""
        # Chains may be mapped over; the model and its data are not. Elsewhere this would run operations one by one.
        mapped = isinstance(rng_key, jax.core.Tracer)
        with jax.ensure_compile_time_eval() if mapped else nullcontext():
            self._target = build(self.model, model_args, model_kwargs or {})
            self._prepare(self._target)
        begin, self._adapt = warmup_adapter(num_warmup, target_accept_prob=self._target_accept_prob)
        self._num_warmup = num_warmup

        def first(key: PRNGKey, params: Any) -> KernelState:
            run_key, start_key, adapt_key = jax.random.split(key, 3)
            if params is None:
                position = random_start(self.target, self._density, start_key)
            else:
                position = self._from_model(_flat(self.target, params))
            x = self._to_model(position)
            value, zero, count = self._density(position), jnp.zeros((), x.dtype), jnp.asarray(0)
            step_size = jnp.asarray(self._step_size, x.dtype)
            return KernelState(
                count,
                self.target.layout.named(x),
                position,
                -self._model_density(value, x),
                -value,
                count,
                zero,
                zero,
                jnp.asarray(False),
                begin((position,), adapt_key, step_size, jnp.ones_like(position)),
                run_key,
            )

        if not is_prng_key(rng_key):
            first = jax.vmap(first, (0, None if init_params is None else 0))
        state = jit(first)(rng_key, init_params)  # one program, where every operation would be one of its own
        if not isinstance(state.potential_energy, jax.core.Tracer) and not jnp.isfinite(state.potential_energy).all():
            raise LogDensityError("The log density is not finite where a chain starts. Give init_params.")
        return state

    def sample(self, state: KernelState, model_args: Any, model_kwargs: Any) -> KernelState:
        """The next state."""
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((model_args, model_kwargs))):
            raise ModelError(
                f"{type(self).__name__} reads the model's arguments when MCMC.run begins: leave jit_model_args=False."
            )
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
            raise ModelError(f"{type(self).__name__} has no target before MCMC.run gives it the model's arguments.")
        return self._target

    def _next(self, state: KernelState) -> KernelState:
        next_key, key = jax.random.split(state.rng_key)
        adapt_state, density = state.adapt_state, self._density
        metric = fitted(self._metric_with(adapt_state.inverse_mass_matrix), state.position)
        point, _ = metric.at(density, state.position)  # made anew, since in warm-up the metric changes
        setup = Setup(density, metric, adapt_state.step_size, self._trajectory)
        after, info = draw(LMC(), key, point, setup)
        accept_prob = jnp.where(jnp.isfinite(info.acceptance_rate), info.acceptance_rate, 0.0)
        adapting, adapt = state.i < self._num_warmup, self._adapt
        assert adapt is not None  # made by init, without which there is no state
        adapt_state = jax.lax.cond(
            adapting, lambda s: adapt(state.i, accept_prob, (after.position,), s), lambda s: s, adapt_state
        )
        draws = jnp.where(adapting, state.i, state.i - self._num_warmup) + 1
        x = self._to_model(after.position)
        return KernelState(
            state.i + 1,
            self.target.layout.named(x),
            after.position,
            -self._model_density(info.lp, x),
            info.energy,
            info.n_steps,
            accept_prob,
            state.mean_accept_prob + (accept_prob - state.mean_accept_prob) / draws,
            info.diverging,
            adapt_state,
            next_key,
        )


def random_start(target: Target, density: LogDensity, key: PRNGKey) -> Vector:
    """The first of some random points at which density and gradient are finite."""
    assert target.start is not None  # a model's target has one
    start = target.start

    @jit
    def first_finite(key: PRNGKey) -> Vector:
        points = jax.vmap(start)(jax.random.split(key, _STARTS))
        values, gradients = jax.vmap(jax.value_and_grad(density))(points)
        return points[jnp.argmax(jnp.isfinite(values) & jnp.isfinite(gradients).all(axis=1))]

    return first_finite(key)


def _flat(target: Target, z: dict[str, jax.Array]) -> Vector:
    return jnp.concatenate([jnp.ravel(z[name]) for name in target.layout.names])
