"""Chains in warm-up, and the constants that they are run with so far."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import PRNGKey
from mongepatch.chains import Fixed, Record, Runner, Settings, states_at
from mongepatch.kernels import State
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD
from mongepatch.metrics import fitted
from mongepatch.warmup.approach import approach
from mongepatch.warmup.step_size import DualAveraging, first_step_size

_REMEMBERED = 3
"""How many runs are looked back upon: thousands of chains fill memory quickly."""
_PATIENCE = 1e10
"""The energy error at which trajectories are given up at first: far out, every step changes the energy by thousands."""


class Rehearsal:
    """What adapters work on: they run draws, look at them, and change constants.

    The step size is looked for all the time, unless the user has fixed it.
    """

    def __init__(
        self,
        runner: Runner,
        states: State,
        settings: Settings,
        key: PRNGKey,
        *,
        step_size: Any,
        acceptance: float,
        may_be_careful: bool = False,
        keep: bool = False,
    ) -> None:
        self.runner, self.states = runner, states
        self.settings = settings._replace(divergence_threshold=_PATIENCE)
        self.records: list[Record] = []
        """The last draws; where they are kept, all of them."""
        self.draws = 0
        """Draws of each chain so far."""
        self.n_grad = 0
        """Gradient-equivalents so far, of all chains."""
        self._keep = keep
        self.acceptance = acceptance
        """The acceptance rate that the step size is looked for."""
        self._key, self._guesses, self._strict = key, 0, True
        self._may_be_careful = may_be_careful
        self.pace: Any = None
        if step_size is None:
            self.states = states_at(approach(states.point.position, runner.density), runner.density, settings.metric)
            self._search(self._guess(1.0))
        else:
            self.pace = Fixed(jnp.asarray(step_size, states.logdensity.dtype))

    def run(self, draws: int) -> Record:
        """Make draws of every chain, with gradients."""
        self.states, self.pace, record = self.runner(self.states, self.settings, self.pace, draws, gradients=True)
        self.records = [*(self.records if self._keep else self.records[-_REMEMBERED + 1 :]), record]
        self.draws += draws
        self.n_grad += int(record.info.n_grad.sum())
        return record

    def recent_positions(self) -> np.ndarray:
        """Flat positions of the last runs, a row for each draw of each chain; the same whether all are kept or not."""
        return _rows([record.position for record in self.records[-_REMEMBERED:]])

    def recent_gradients(self) -> np.ndarray:
        """Gradients there."""
        return _rows([record.gradient for record in self.records[-_REMEMBERED:]])

    def change(self, settings: Settings, step_size: float | None = None) -> None:
        """Go on with other settings, and look for their step size around one that is given, or the last.

        Where the base metric has changed, a step has another length: then the density itself is asked.
        """
        before = self.settings.metric
        settings = settings._replace(divergence_threshold=self.settings.divergence_threshold)
        moved = getattr(settings.metric, "inverse_mass", None) is not getattr(before, "inverse_mass", None)
        if settings.metric is not before:
            settings = settings._replace(metric=fitted(settings.metric, self.states.point.position[0]))
            self.states = states_at(self.states.point.position, self.runner.density, settings.metric)
        self.settings = settings
        if isinstance(self.pace, Fixed):
            return
        if step_size is None:
            step_size = self._guess(self.pace.step_size) if moved else self.pace.step_size
        self._search(step_size)

    def be_careful(self, acceptance: float) -> None:
        """Look for another acceptance rate from now on, unless the user has asked for one."""
        if self._may_be_careful and acceptance != self.acceptance:
            self.acceptance = acceptance
            self.change(self.settings)

    def arrive(self) -> None:
        """Once chains have left their starts: look at their mean, and give trajectories up as soon as they diverge."""
        if not self._strict:
            return
        self._strict = False
        self.settings = self.settings._replace(divergence_threshold=DIVERGENCE_THRESHOLD)
        if isinstance(self.pace, DualAveraging):
            self._search(self.pace.settled().step_size)

    def settle(self) -> None:
        """End the search for a step size."""
        if isinstance(self.pace, DualAveraging):
            self.pace = self.pace.settled()

    def _search(self, step_size: Any) -> None:
        rates = self.states.logdensity  # of every chain
        self.pace = DualAveraging.around(step_size, self.acceptance, rates.size, rates.dtype, strict=self._strict)

    def _guess(self, step_size: Any) -> Any:
        """A step size for where the chains are."""
        self._guesses += 1
        dtype = self.states.logdensity.dtype
        return first_step_size(
            jax.random.fold_in(self._key, self._guesses),
            self.states,
            self.runner.density,
            self.settings.metric,
            jnp.asarray(step_size, dtype),
            jnp.asarray(self.acceptance, dtype),
            kernel=self.runner.kernel,
            walks=self.settings.trajectory is not None,
        )


def _rows(arrays: list[Any]) -> np.ndarray:
    """Arrays [chain, draw, dimension] as rows of a matrix."""
    joined: np.ndarray = np.concatenate(arrays, axis=1)
    return joined.reshape(-1, joined.shape[-1])
