"""Lagrangian Monte Carlo in any metric. In the Euclidean metric it is Hamiltonian Monte Carlo."""

from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._pytree import is_concrete
from mongepatch._typing import LogDensity, PRNGKey, PyTree, Scalar, Vector
from mongepatch.errors import LogDensityError
from mongepatch.integrators import Lagrangian, Phase, Scheme
from mongepatch.kernels.base import Algorithm, Failure, Info, State
from mongepatch.metrics import Metric, check_metric, fitted, hamiltonian
from mongepatch.settings import positive_number
from mongepatch.targets.base import Target
from mongepatch.targets.layout import Layout
from mongepatch.targets.program import check_density
from mongepatch.trajectories import Static, check_trajectory

DIVERGENCE_THRESHOLD = 1000.0


def init(position: PyTree, logdensity: LogDensity, metric: Metric) -> State:
    """The state at a pytree of parameters."""
    layout = Layout.of(position)
    flat = layout.flat(position)

    def density(x: Vector) -> Scalar:
        return logdensity(layout.tree(x))

    check_density(density, flat)
    point, _ = fitted(metric, flat).at(density, flat)
    return State(layout.tree(flat), point.logdensity, point)


def step(
    key: PRNGKey,
    state: State,
    logdensity: LogDensity,
    metric: Metric,
    step_size: Scalar,
    trajectory: Static,
    integrator: Lagrangian,
    *,
    length_key: PRNGKey | None = None,
    divergence_threshold: float = DIVERGENCE_THRESHOLD,
) -> tuple[State, Info]:
    """One draw: a fresh velocity, a trajectory, and a Metropolis test of its end.

    The end is accepted with probability min(1, exp(E₀ − E₁ + log-volume)).

    Args:
        key: randomness of this draw.
        state: the last draw.
        logdensity: log density of a position as the state holds it.
        metric: the geometry; the one that made the state.
        step_size: ε.
        trajectory: how many steps.
        integrator: how to step.
        length_key: decides the number of steps, where chains that run in lockstep should all take the same; by default
            each chain decides for itself.
        divergence_threshold: the energy error above which a trajectory counts as divergent.
    """
    velocity_key, accept_key, own_length_key = jax.random.split(key, 3)
    start = state.point
    layout = Layout.of(state.position)
    dtype = start.position.dtype
    metric = fitted(metric, start.position)
    step_size = jnp.asarray(step_size, dtype)

    velocity = metric.velocity_from_noise(start, jax.random.normal(velocity_key, start.position.shape, dtype))
    num_steps = trajectory.length(own_length_key if length_key is None else length_key)
    before = Phase.start(start, velocity)
    after = integrator.run(lambda x: logdensity(layout.tree(x)), metric, before, step_size, num_steps)

    # E₀ − E₁ + log-volume, grouped so that each bracket is small where its terms may be large.
    energy_before, energy_after = (hamiltonian(metric, phase.point, phase.motion.velocity) for phase in (before, after))
    volume_error = after.motion.log_volume + metric.log_det(after.point) - metric.log_det(start)
    log_ratio = (energy_before - energy_after) + volume_error
    failure = jnp.where(
        ~jnp.isfinite(log_ratio) | ~jnp.isfinite(after.point.logdensity),
        Failure.NOT_FINITE,
        jnp.where(-log_ratio > divergence_threshold, Failure.ENERGY, Failure.NONE),
    ).astype(jnp.int8)
    usable = failure != Failure.NOT_FINITE
    acceptance_rate = jnp.where(usable, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0)
    # Minus an exponential variate is the log of a uniform one that is never 0, which would accept anything.
    accepted = usable & (-jax.random.exponential(accept_key, dtype=dtype) <= log_ratio)

    point = jax.tree.map(lambda new, old: jnp.where(accepted, new, old), after.point, start)
    info = Info(
        lp=point.logdensity,
        acceptance_rate=acceptance_rate,
        accepted=accepted,
        step_size=step_size,
        n_steps=num_steps,
        n_grad=integrator.n_grad(metric, num_steps),
        diverging=failure != Failure.NONE,
        failure=failure,
        energy=jnp.where(accepted, energy_after, energy_before),
        energy_error=-log_ratio,
        alpha=jnp.asarray(metric.alpha, dtype),
        log_volume=after.motion.log_volume,
    )
    return State(layout.tree(point.position), point.logdensity, point), info


def lmc(
    logdensity: LogDensity,
    metric: Metric,
    step_size: Any,
    trajectory: Static,
    *,
    scheme: Scheme = "merged",
    divergence_threshold: float = DIVERGENCE_THRESHOLD,
) -> Algorithm:
    """Lagrangian Monte Carlo with its settings filled in, in the shape of BlackJAX's samplers.

    `init(position)` makes a state and `step(key, state)` the next one with its `Info`. Both are pure and can be used
    inside `jax.jit`, `jax.vmap` and `jax.lax.scan`, and by `blackjax.util.run_inference_algorithm`. All settings but
    the scheme may be traced values.

    Args:
        logdensity: log density of a pytree of parameters; or a `Target`, whose states hold flat vectors.
        metric: `Euclidean(...)` for HMC, `Monge(alpha, ...)`, or a metric of your own.
        step_size: ε > 0.
        trajectory: `Static(num_steps, jitter)`.
        scheme: "merged" (one kick at interior points) or "paper" (two).
        divergence_threshold: the energy error above which a trajectory counts as divergent.
    """
    step_size, integrator = positive_number("step_size", step_size), Lagrangian(scheme)
    check_trajectory(trajectory)
    check_metric(metric)

    def init_fn(position: PyTree, rng_key: PRNGKey | None = None) -> State:
        if isinstance(logdensity, Target):
            position = logdensity.layout.flat(position)
        state = init(position, logdensity, metric)
        if is_concrete(state.logdensity) and not jnp.isfinite(state.logdensity):
            raise LogDensityError(
                f"The log density is {state.logdensity} at the starting point: a chain cannot leave it."
            )
        return state

    def step_fn(rng_key: PRNGKey, state: State) -> tuple[State, Info]:
        return step(
            rng_key,
            state,
            logdensity,
            metric,
            step_size,
            trajectory,
            integrator,
            divergence_threshold=divergence_threshold,
        )

    return Algorithm(init_fn, step_fn)
