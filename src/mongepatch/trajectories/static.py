"""A trajectory whose length does not depend on where it goes."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._arrays import on_device
from mongepatch._keywords import checked_keywords
from mongepatch._pytree import is_concrete, pytree
from mongepatch._typing import CountLike, PRNGKey, Scalar, ScalarLike
from mongepatch.errors import SettingError
from mongepatch.integrators import Phase
from mongepatch.trajectories.base import Dynamics, Transition
from mongepatch.trajectories.metropolis import metropolis
from mongepatch.validation import number_at_least_zero, whole_number


@checked_keywords
@pytree
@dataclass(frozen=True, init=False)
class Static:
    """A number of integration steps that is fixed, or drawn afresh for every trajectory.

    Args:
        num_steps: the longest trajectory, in steps.
        jitter: between 0 and 1. The number of steps is uniform on the integers from (1 − jitter) · num_steps, at
            least 1, to num_steps: 0 keeps it fixed, 1 draws it from 1 … num_steps. Some jitter keeps a trajectory
            from closing on itself in directions whose period it happens to match.
        step_size_jitter: between 0 and 1. The step size of a trajectory is uniform between (1 − step_size_jitter) ε
            and (1 + step_size_jitter) ε. It varies the length of trajectories of few steps less than a step more or
            fewer does.

    Example:
        >>> trajectory = mp.Static(20, jitter=0.5)  # 10 to 20 steps
    """

    num_steps: Any
    jitter: Any
    step_size_jitter: Any

    def __init__(self, num_steps: Any, jitter: Any = 0.0, step_size_jitter: Any = 0.0) -> None:
        if is_concrete(num_steps):
            num_steps = whole_number("num_steps", num_steps)
        object.__setattr__(self, "num_steps", on_device(num_steps, jnp.result_type(int)))
        object.__setattr__(self, "jitter", _at_most_one("jitter", jitter))
        object.__setattr__(self, "step_size_jitter", _at_most_one("step_size_jitter", step_size_jitter))

    def length(self, key: PRNGKey) -> CountLike:
        """The number of steps of the next trajectory."""
        if is_concrete(self.num_steps) and is_concrete(self.jitter) and float(self.jitter) == 0:
            # A loop of a known length: chains that are batched over compare no counters of their own after each step.
            return int(self.num_steps)
        shortest = jnp.maximum(1, jnp.round((1 - self.jitter) * self.num_steps).astype(self.num_steps.dtype))
        return jax.random.randint(key, (), shortest, self.num_steps + 1)

    def stretch(self, key: PRNGKey) -> ScalarLike:
        """What ε is multiplied by in the next trajectory; the key is that of its length."""
        if is_concrete(self.step_size_jitter) and float(self.step_size_jitter) == 0:
            return 1.0
        key = jax.random.fold_in(key, 1)
        return 1.0 + self.step_size_jitter * jax.random.uniform(key, (), self.step_size_jitter.dtype, -1.0)

    def propose(
        self, key: PRNGKey, length_key: PRNGKey, dynamics: Dynamics, start: Phase, divergence_threshold: ScalarLike
    ) -> Transition:
        """The end of the trajectory, accepted with probability min(1, exp(E₀ − E₁ + log-volume))."""
        num_steps, dynamics = self.length(length_key), dynamics.stretched(self.stretch(length_key))
        end = dynamics.run(start, num_steps)
        log_ratio = dynamics.level(end).log_ratio(dynamics.level(start))
        return metropolis(
            key,
            start,
            end,
            log_ratio,
            divergence_threshold,
            log_volume=end.log_volume,
            n_steps=num_steps,
            n_grad=end.n_grad,
        )


def _at_most_one(name: str, value: Any) -> Scalar:
    """A number between 0 and 1."""
    number = number_at_least_zero(name, value)
    if is_concrete(number) and float(number) > 1:
        raise SettingError(f"{name} must be at most 1; it is {value}.")
    return number
