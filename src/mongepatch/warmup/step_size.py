"""The step size: a first guess from the density, then dual averaging to an acceptance rate."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._extras import require
from mongepatch._pytree import pytree
from mongepatch._typing import Flag, PRNGKey, Scalar
from mongepatch.kernels import Kernel, State
from mongepatch.metrics import Metric
from mongepatch.program import Program, jit
from mongepatch.trajectories import Static

_DOUBLINGS = 40
"""How often the first guess is doubled or halved at most: a density that is flat would let it grow for ever."""
_LONGEST = 2.0**20
_MEMORY = 0.8
"""How much of a chain's acceptance rate of late stays from one draw to the next."""


@pytree
@dataclass(frozen=True)
class DualAveraging:
    """A step size that looks for an acceptance rate, pooled over all chains; or that has found it and rests."""

    search: Any
    """State of BlackJAX's dual averaging."""
    target: Scalar
    """The acceptance rate to look for."""
    active: Flag
    """Whether it still looks."""
    strict: Flag
    """Whether it looks after the worst chain too, which might otherwise be outvoted and never leave its start."""
    recent: jax.Array
    """Acceptance rate of every chain of late."""

    @classmethod
    def around(cls, step_size: Any, target: Any, chains: int, dtype: Any, *, strict: bool = False) -> "DualAveraging":
        """Begin to look around a guess.

        BlackJAX pulls towards ten times the guess, for guesses that err on the short side; these do not.
        """
        begin, _, _ = _dual_averaging()
        search = begin(jnp.asarray(step_size, dtype))
        search = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), search._replace(mu=search.log_x))
        recent = jnp.full(chains, target, dtype)
        return cls(search, jnp.asarray(target, dtype), jnp.asarray(True), jnp.asarray(strict), recent)

    @property
    def step_size(self) -> Scalar:
        """ε of the next draw."""
        step: Scalar = jnp.exp(self.search.log_x)
        return step

    def after(self, acceptance: jax.Array) -> "DualAveraging":
        """Longer steps after too much acceptance, shorter ones after too little."""
        _, update, _ = _dual_averaging()
        acceptance = jnp.where(jnp.isfinite(acceptance), acceptance, 0.0)
        recent = _MEMORY * self.recent + (1 - _MEMORY) * acceptance
        mean = acceptance.mean()
        error = self.target - jnp.where(self.strict, jnp.minimum(mean, 2 * recent.min()), mean)
        found = jax.tree.map(lambda new, old: new.astype(old.dtype), update(self.search, error), self.search)
        search = jax.tree.map(lambda new, old: jnp.where(self.active, new, old), found, self.search)
        return replace(self, search=search, recent=recent)

    def settled(self) -> "DualAveraging":
        """The average of the steps so far, for good."""
        return replace(self, search=self.search._replace(log_x=self.search.log_x_avg), active=jnp.asarray(False))


@partial(jit, static_argnames=("kernel", "walks"))
def first_step_size(
    key: PRNGKey,
    states: State,
    density: Program,
    metric: Metric,
    guess: Scalar,
    target: Scalar,
    *,
    kernel: Kernel,
    walks: bool,
) -> Scalar:
    """A step size at which one step from where the chains are is accepted about as often as it should be.

    The guess is doubled for as long as more is accepted than the target, or halved while less is. Kernels that walk
    along a trajectory walk one step.
    """
    single = Static(1) if walks else None
    keys = jax.random.split(key, states.logdensity.shape[0])

    def accepts(step_size: Scalar) -> Flag:
        def once(key: PRNGKey, state: State) -> Scalar:
            return kernel.step(key, state, density, metric, step_size, single)[1].acceptance_rate

        rates = jax.vmap(once)(keys, states)
        return jnp.where(jnp.isfinite(rates), rates, 0.0).mean() > target

    grows = accepts(guess)
    factor = jnp.where(grows, 2.0, 0.5).astype(guess.dtype)

    def goes_on(carry: tuple[Scalar, Flag, Any]) -> Flag:
        step_size, accepted, trials = carry
        return (accepted == grows) & (trials < _DOUBLINGS) & (step_size < _LONGEST)

    def change(carry: tuple[Scalar, Flag, Any]) -> tuple[Scalar, Flag, Any]:
        step_size, _, trials = carry
        return step_size * factor, accepts(step_size * factor), trials + 1

    step_size, _, _ = jax.lax.while_loop(goes_on, change, (guess, grows, jnp.int32(0)))
    return step_size


def _dual_averaging() -> Any:
    return require("blackjax.optimizers.dual_averaging", "sample", "Warm-up of the step size").dual_averaging()
