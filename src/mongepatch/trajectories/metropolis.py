"""The test of Metropolis, Hastings and Green."""

from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, CountLike, PRNGKey, Scalar, ScalarLike
from mongepatch.integrators import Failure, Phase
from mongepatch.trajectories.base import Transition, classify


def metropolis(
    key: PRNGKey,
    start: Phase,
    proposed: Phase,
    log_ratio: Scalar,
    divergence_threshold: ScalarLike,
    *,
    log_volume: Scalar,
    n_steps: CountLike,
    n_grad: CountLike,
) -> Transition:
    """Accept a phase with probability min(1, exp(log_ratio)), and never one that failed.

    A large energy error is no reason to reject outright, which would break detailed balance: the test does that.
    """
    failure = classify(log_ratio, proposed, -log_ratio > divergence_threshold)
    usable = (failure == Failure.NONE) | (failure == Failure.ENERGY)
    # Minus an exponential variate is the log of a uniform one that is never 0, which would accept anything.
    accepted = usable & (-jax.random.exponential(key, dtype=log_ratio.dtype) <= log_ratio)

    def choose(new: Any, old: Any) -> Any:
        return jnp.where(accepted, new, old)

    return Transition(
        phase=jax.tree.map(choose, proposed, start),
        accepted=accepted,
        acceptance_rate=jnp.where(usable, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0),
        failure=failure,
        log_ratio=log_ratio,
        log_volume=log_volume,
        n_steps=_count(n_steps),
        n_grad=_count(n_grad),
        extra={},
    )


def _count(value: CountLike) -> Count:
    return jnp.asarray(value)
