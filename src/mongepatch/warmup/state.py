"""The state of warm-up: chains, and the tuning parameters that they are run with so far."""

from typing import Any

import jax
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._typing import LogDensity, PRNGKey
from mongepatch.chains import Record, Runner, Tuning, points_at
from mongepatch.coordinates import WhitenedDensity
from mongepatch.coordinates.batches import OtherCoordinates, in_coordinates
from mongepatch.kernels import LMC
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD
from mongepatch.metrics import Euclidean, fitted, turning_frequency
from mongepatch.program import jit
from mongepatch.warmup.ascent import ascend
from mongepatch.warmup.step_size import (
    DualAveraging,
    FixedStepSize,
    find_leapfrog_step_size,
    find_reasonable_step_size,
    initial_policy,
    longest_step,
)
from mongepatch.warmup.tree_depth import MANY_CHAINS, limits_depth, with_depth_limit, with_full_depth

_RECENT_RECORDS = 3
"""How many runs are looked back upon: thousands of chains fill memory quickly."""
_LOOKED_AT = 4096
"""Chains whose internal positions and gradients are looked at, or up to twice as many: more would tell nothing new."""
_INITIAL_DIVERGENCE_THRESHOLD = 1e10
"""The energy error at which trajectories are given up at first: far out, every step changes the energy by thousands."""


class WarmupState:
    """What adaptation works on: it runs draws, looks at them, and changes tuning parameters.

    The step size is adapted all the time, unless the user has given it, or it is held. `WarmupState.begin` makes one.
    """

    def __init__(
        self,
        runner: Runner,
        points: Any,
        tuning: Tuning,
        key: PRNGKey,
        policy: Any,
        *,
        acceptance: float,
        fixed_acceptance: bool,
        keep: bool,
    ) -> None:
        self.runner, self.points, self.tuning, self.policy = runner, points, tuning, policy
        self.target_acceptance = acceptance
        """The acceptance rate that the step size is adapted to."""
        self.records: list[Record] = []
        """The last draws, all in the present coordinates."""
        self.kept: list[Record] = []
        """All draws in the model's own coordinates, where they are kept."""
        self.draws = 0
        """Draws of each chain so far."""
        self.n_grad = 0
        """Gradient-equivalents so far, of all chains."""
        self._key, self._searches = key, 0
        self._model_positions = np.asarray(points.position)
        self._keeps_all, self._fixed_acceptance, self._transient, self._holds = keep, fixed_acceptance, True, False
        self._limits_depth = limits_depth(tuning.trajectory, runner.density, len(points.logdensity))
        self._limit_depth(None)

    @classmethod
    def begin(
        cls,
        runner: Runner,
        points: Any,
        tuning: Tuning,
        key: PRNGKey,
        *,
        step_size: Any,
        acceptance: float,
        fixed_acceptance: bool = True,
        keep: bool = False,
    ) -> "WarmupState":
        """Chains at their initial points: moved uphill where they are far out, and with a first step size.

        Args:
            runner: makes the draws.
            points: the metric's points where chains start.
            tuning: tuning parameters to begin with.
            key: randomness of searches for a step size.
            step_size: ε where the user has given it; else None.
            acceptance: the acceptance rate to adapt the step size to.
            fixed_acceptance: whether that is the user's, and stays.
            keep: whether to keep the draws of all of warm-up.
        """
        tuning = tuning._replace(divergence_threshold=_INITIAL_DIVERGENCE_THRESHOLD)
        policy = initial_policy(step_size, acceptance, points.logdensity.size, points.logdensity.dtype)
        if step_size is None:
            points = ascend(points, runner.density, tuning.metric)
        state = cls(
            runner, points, tuning, key, policy, acceptance=acceptance, fixed_acceptance=fixed_acceptance, keep=keep
        )
        if step_size is None:
            state._adapt_around(state._reasonable_step_size(1.0))
        return state

    def run(self, draws: int) -> Record:
        """Make draws of every chain; of thousands of chains, some have gradients."""
        every = max(1, len(self.points.logdensity) // _LOOKED_AT)
        self.points, self.policy, record = self.runner(self.points, self.tuning, self.policy, draws, internals=every)
        self.records = [*self.records[-_RECENT_RECORDS + 1 :], record]
        if self._keeps_all:
            self.kept.append(record._replace(internal=None, gradient=None))
        self._model_positions = record.position[:, -1]
        self.draws += draws
        self._limit_depth(np.asarray(record.info.n_steps))
        self.n_grad += int(record.info.n_grad.sum())
        return record

    @property
    def is_whitened(self) -> bool:
        """Whether chains move in whitened coordinates."""
        return isinstance(self.runner.density, WhitenedDensity)

    @property
    def in_other_coordinates(self) -> bool:
        """Whether chains move in other coordinates than the model's own: whitened ones, or mapped one by one."""
        return isinstance(self.runner.density, OtherCoordinates)

    @property
    def is_transient(self) -> bool:
        """Whether chains may still be moving away from their initial points."""
        return self._transient

    @property
    def has_many_chains(self) -> bool:
        """Whether there are so many chains that a few draws of all of them tell enough."""
        return len(self.points.logdensity) >= MANY_CHAINS

    @property
    def step_size(self) -> float:
        """ε of the next draw."""
        return float(self.policy.step_size)

    @property
    def has_fixed_step_size(self) -> bool:
        """Whether the user has given it."""
        return isinstance(self.policy, FixedStepSize)

    @property
    def holds_step_size(self) -> bool:
        """Whether it is not adapted, though the user has not given it."""
        return self._holds

    @property
    def angle(self) -> float:
        """By about how much a step turns x and v, where M suits a normal density."""
        return self.step_size * (turning_frequency(self.tuning.metric) or 1.0)

    @property
    def has_given_acceptance(self) -> bool:
        """Whether the user has given ε, or the acceptance rate that it is adapted to."""
        return self.has_fixed_step_size or self._fixed_acceptance

    def recent_positions(self) -> np.ndarray:
        """Positions of the last runs, in the coordinates that chains move in: a row for each draw of each chain."""
        return _rows([record.internal for record in self.records])

    def recent_model_positions(self) -> np.ndarray:
        """The same in the model's own coordinates."""
        return _rows([record.position for record in self.records])

    def recent_gradients(self) -> np.ndarray:
        """Gradients there."""
        return _rows([record.gradient for record in self.records])

    def change(self, tuning: Tuning, step_size: float | None = None) -> None:
        """Go on with other tuning parameters, and adapt the step size around one that is given, or the last.

        Where the base metric has changed, a step has another length: a reasonable one is then searched for. A step size
        that is held stays, unless another is given.
        """
        before = self.tuning.metric
        tuning = tuning._replace(divergence_threshold=self.tuning.divergence_threshold)
        new_base = getattr(tuning.metric, "inverse_mass", None) is not getattr(before, "inverse_mass", None)
        if tuning.metric is not before:
            position = jax.ShapeDtypeStruct(self.points.position.shape[1:], self.points.position.dtype)
            tuning = tuning._replace(metric=fitted(tuning.metric, position))
            self.points = points_at(self.points.position, self.runner.density, tuning.metric)
        self.tuning = tuning
        if self.has_fixed_step_size or (self._holds and step_size is None):
            return
        self._holds = False
        if step_size is None:
            # The M of many chains is nearly right once they have left their initial points, and so is ε.
            searches = new_base and (self._transient or not self.has_many_chains)
            current = self.policy.step_size
            step_size = self._reasonable_step_size(current) if searches else current
        self._adapt_around(step_size)

    def change_coordinates(self, density: LogDensity) -> None:
        """Go on at the same points of the model in other coordinates; M must follow."""
        positions = in_coordinates(self._model_positions, density)
        self.runner.density, self.records = density, []
        self.points = points_at(on_device(positions), density, self.tuning.metric)

    def internal_draws(self, density: LogDensity, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the model [number, dimension] in the coordinates of a density, and its gradients there.

        As many at once as there are chains: for so many the programs are compiled already.
        """
        chains = len(self.points.logdensity)
        internal, gradients = [], []
        for first in range(0, len(positions), chains):
            batch = np.resize(positions[first : first + chains], (chains, positions.shape[1]))
            internal.append(in_coordinates(batch, density))
            gradients.append(points_at(on_device(internal[-1]), density, self.tuning.metric).gradient)
        count = len(positions)
        return np.concatenate(internal)[:count], np.concatenate(gradients)[:count]

    def may_shorten_steps(self, acceptance: float) -> bool:
        """Whether a target acceptance rate of this much would do so: not where the user has given one, or ε."""
        return not self.has_given_acceptance and acceptance > self.target_acceptance

    def set_target_acceptance(self, acceptance: float) -> None:
        """Adapt to another acceptance rate from now on, unless the user has given one."""
        if not self._fixed_acceptance and acceptance != self.target_acceptance:
            self.target_acceptance = acceptance
            self.change(self.tuning)

    def end_transient(self) -> None:
        """Once chains have left their initial points: adapt to their mean acceptance, and give up divergent paths."""
        if not self._transient:
            return
        self._transient = False
        self.tuning = self.tuning._replace(divergence_threshold=DIVERGENCE_THRESHOLD)
        if isinstance(self.policy, DualAveraging):
            self._adapt_around(self.policy.finished().step_size)

    def finish_step_size(self) -> None:
        """End the adaptation of the step size."""
        if isinstance(self.policy, DualAveraging):
            self.policy = self.policy.finished()

    def end_with_step_size(self, step_size: float) -> None:
        """End the adaptation of the step size with this one."""
        self._adapt_around(step_size)
        self.finish_step_size()

    def hold_step_size(self, step_size: float) -> None:
        """The same, until `change` is given another."""
        self.end_with_step_size(step_size)
        self._holds = True

    def end_depth_limit(self) -> None:
        """Let trees be as deep as the user allows."""
        if self._limits_depth:
            self.tuning = self.tuning._replace(trajectory=with_full_depth(self.tuning.trajectory))

    def _limit_depth(self, n_steps: np.ndarray | None) -> None:
        """Limit the depth of trees by the steps of the last ones, where it is limited at all."""
        if self._limits_depth:
            self.tuning = self.tuning._replace(trajectory=with_depth_limit(self.tuning.trajectory, n_steps))

    def _adapt_around(self, step_size: Any) -> None:
        values = self.points.logdensity
        self.policy = DualAveraging.around(
            step_size,
            self.target_acceptance,
            values.size,
            values.dtype,
            watch_worst=self._transient,
            longest=longest_step(self.tuning),
        )

    def _reasonable_step_size(self, guess: Any) -> Any:
        """A step size for where the chains are."""
        self._searches += 1
        key, metric, kernel = _fold_in(self._key, self._searches), self.tuning.metric, self.runner.kernel
        density, dtype = self.runner.density, self.points.logdensity.dtype
        if isinstance(metric, Euclidean) and isinstance(kernel, LMC):
            return find_leapfrog_step_size(key, self.points, density, metric, float(guess), self.target_acceptance)
        return find_reasonable_step_size(
            key,
            self.points,
            density,
            metric,
            on_device(guess, dtype),
            on_device(self.target_acceptance, dtype),
            kernel=kernel,
            has_trajectory=self.tuning.trajectory is not None,
        )


_fold_in = jit(jax.random.fold_in, quick=True)


def _rows(arrays: list[Any]) -> np.ndarray:
    """Arrays [chain, draw, dimension] as rows of a matrix."""
    joined: np.ndarray = np.concatenate(arrays, axis=1)
    return joined.reshape(-1, joined.shape[-1])
