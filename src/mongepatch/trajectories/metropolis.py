"""The test of Metropolis, Hastings and Green."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, Flag, PRNGKey, Scalar
from mongepatch.integrators import Failure


class Decision(NamedTuple):
    """Whether a proposal was accepted, and how likely that was."""

    accepted: Flag
    acceptance_rate: Scalar

    def choose(self, proposed: Any, start: Any) -> Any:
        """The proposal where it was accepted, the start where not."""
        return jax.tree.map(lambda new, old: jnp.where(self.accepted, new, old), proposed, start)


def metropolis(key: PRNGKey, log_ratio: Scalar, failure: Count) -> Decision:
    """Accept with probability min(1, exp(log_ratio)), and never what failed.

    A large energy error is no reason to reject outright, which would break detailed balance: the test does that.
    """
    usable = (failure == Failure.NONE) | (failure == Failure.ENERGY)
    # Minus an exponential variate is the log of a uniform one that is never 0, which would accept anything.
    accepted = usable & (-jax.random.exponential(key, dtype=log_ratio.dtype) <= log_ratio)
    return Decision(accepted, jnp.where(usable, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0))
