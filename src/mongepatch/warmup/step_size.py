"""The step size: fixed by the user, or a first guess from the density, then dual averaging to an acceptance rate."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._arrays import on_device
from mongepatch._extras import require
from mongepatch._pytree import pytree
from mongepatch._random import normal_vector
from mongepatch._typing import Flag, LogDensity, PerPosition, Positions, PRNGKey, Scalar
from mongepatch.chains import Tuning, points_at
from mongepatch.kernels import Kernel, Setup
from mongepatch.metrics import Euclidean, Metric, turning_frequency
from mongepatch.metrics.inverse_mass import InverseMass
from mongepatch.program import jit
from mongepatch.trajectories import Static, in_use

_MOST_DOUBLINGS = 40
"""How often the first guess is doubled or halved at most: on a flat density it would grow without end."""
_LARGEST_GUESS = 2.0**20
ANGLE = 1.65
"""By how much a static trajectory should turn x and v: about a quarter of a circle, after which draws are independent.
A little more is better where some direction is wider than M says."""
_SMOOTHING = 0.8
"""Weight of the past in the moving average of a chain's acceptance rate."""


@pytree
@dataclass(frozen=True)
class FixedStepSize:
    """A step size that the user has given."""

    step_size: Scalar
    adapts: ClassVar[bool] = False

    def update(self, acceptance: jax.Array) -> "FixedStepSize":
        """The same."""
        return self


@pytree
@dataclass(frozen=True)
class DualAveraging:
    """A step size that is adapted to an acceptance rate, pooled over all chains, until adaptation ends."""

    search: Any
    """State of BlackJAX's dual averaging."""
    target: Scalar
    """The acceptance rate to adapt to."""
    active: Flag
    """Whether it still adapts."""
    watch_worst: Flag
    """Whether a chain that accepts too little shortens the steps of all, so that none is stuck where it starts."""
    recent: jax.Array
    """Moving average of the acceptance rate of every chain."""
    longest: Scalar
    """The longest step: the energy error of steps that turn x and v need not grow with ε."""

    @classmethod
    def around(
        cls,
        step_size: Any,
        target: Any,
        chains: int,
        dtype: Any,
        *,
        watch_worst: bool = False,
        longest: float = np.inf,
    ) -> "DualAveraging":
        """Begin to adapt around a guess.

        BlackJAX pulls towards ten times the guess, for guesses that err on the short side; these do not. Without an
        update the average is the guess, where BlackJAX's is 1.
        """
        numbers = (np.minimum(step_size, longest), target, np.full(chains, target), longest)
        first, goal, recent, limit = (np.asarray(number, dtype) for number in numbers)
        made: DualAveraging = _begin(first, goal, recent, limit, np.array(watch_worst))
        return made

    @property
    def step_size(self) -> Scalar:
        """ε of the next draw."""
        step: Scalar = jnp.exp(self.search.log_x)
        return step

    @property
    def adapts(self) -> bool:
        """Whether adaptation has not ended."""
        return bool(self.active)

    def update(self, acceptance: jax.Array) -> "DualAveraging":
        """Longer steps after too much acceptance, shorter ones after too little."""
        _, update, _ = _dual_averaging()
        acceptance = jnp.where(jnp.isfinite(acceptance), acceptance, 0.0)
        recent = _SMOOTHING * self.recent + (1 - _SMOOTHING) * acceptance
        mean = acceptance.mean()
        error = self.target - jnp.where(self.watch_worst, jnp.minimum(mean, 2 * recent.min()), mean)
        found = jax.tree.map(lambda new, old: new.astype(old.dtype), update(self.search, error), self.search)
        most = jnp.log(self.longest)
        found = found._replace(log_x=jnp.minimum(found.log_x, most), log_x_avg=jnp.minimum(found.log_x_avg, most))
        search = jax.tree.map(lambda new, old: jnp.where(self.active, new, old), found, self.search)
        return replace(self, search=search, recent=recent)

    def finished(self) -> "DualAveraging":
        """The average of the steps so far, which no longer changes."""
        return replace(self, search=self.search._replace(log_x=self.search.log_x_avg), active=on_device(False))


def longest_step(tuning: Tuning) -> float:
    """The longest ε that makes sense: a static trajectory of about a quarter of a circle where x and v turn, else any.

    In a normal density every such step is accepted, and nothing else would end its growth.
    """
    frequency, trajectory = turning_frequency(tuning.metric), in_use(tuning.trajectory)
    steps = int(trajectory.num_steps) if isinstance(trajectory, Static) else 1
    return ANGLE / (frequency * steps) if frequency else np.inf


def initial_policy(step_size: Any, acceptance: Any, chains: int, dtype: Any) -> FixedStepSize | DualAveraging:
    """The step size that the user has given, or adaptation around 1, which a search will replace."""
    if step_size is not None:
        return FixedStepSize(on_device(step_size, dtype))
    return DualAveraging.around(1.0, acceptance, chains, dtype, watch_worst=True)


@partial(jit, static_argnames=("kernel", "has_trajectory"), quick=True)
def find_reasonable_step_size(
    key: PRNGKey,
    points: Any,
    density: LogDensity,
    metric: Metric,
    guess: Scalar,
    target: Scalar,
    *,
    kernel: Kernel,
    has_trajectory: bool,
) -> Scalar:
    """A step size at which one step from where the chains are is accepted about as often as the target says.

    The guess is doubled for as long as more is accepted than the target, or halved while less is. Kernels that follow a
    trajectory make one step of it. `find_leapfrog_step_size` does the same for leapfrog, and compiles less.
    """
    single = Static(1) if has_trajectory else None
    keys = jax.random.split(key, points.logdensity.shape[0])

    def accepts(step_size: Scalar) -> Flag:
        setup = Setup(density, metric, step_size, single)
        rates = jax.vmap(lambda key, point: kernel.step(key, point, setup).acceptance_rate)(keys, points)
        return jnp.where(jnp.isfinite(rates), rates, 0.0).mean() > target

    grows = accepts(guess)
    factor = jnp.where(grows, 2.0, 0.5).astype(guess.dtype)

    def goes_on(carry: tuple[Scalar, Flag, Any]) -> Flag:
        step_size, accepted, trials = carry
        return (accepted == grows) & (trials < _MOST_DOUBLINGS) & (step_size < _LARGEST_GUESS)

    def change(carry: tuple[Scalar, Flag, Any]) -> tuple[Scalar, Flag, Any]:
        step_size, _, trials = carry
        return step_size * factor, accepts(step_size * factor), trials + 1

    step_size, _, _ = jax.lax.while_loop(goes_on, change, (guess, grows, jnp.int32(0)))
    return step_size


def find_leapfrog_step_size(
    key: PRNGKey, points: Any, density: LogDensity, metric: Euclidean, guess: float, target: float
) -> float:
    """The same for a kernel whose steps are leapfrog steps: `points_at`, which is compiled already, does the work."""

    def accepts(step_size: float) -> bool:
        length = np.asarray(step_size, points.position.dtype)
        position, noise, middle = _leapfrog_begin(key, points, metric.inverse_mass, length)
        rates = np.asarray(_leapfrog_end(points_at(position, density, metric), points, noise, middle, metric, length))
        return bool(np.where(np.isfinite(rates), rates, 0.0).mean() > target)

    step_size, grows = guess, accepts(guess)
    for _ in range(_MOST_DOUBLINGS):
        step_size *= 2.0 if grows else 0.5
        if accepts(step_size) != grows or step_size >= _LARGEST_GUESS:
            break
    return step_size


@partial(jit, quick=True)
def _leapfrog_begin(
    key: PRNGKey, points: Any, base: InverseMass, length: Scalar
) -> tuple[Positions, Positions, Positions]:
    """Positions after a step, and momenta at its beginning and half-way, in the scale of M."""
    noise = normal_vector(key, points.position.size, points.position.dtype).reshape(points.position.shape)
    middle = noise + 0.5 * length * jax.vmap(base.root_transposed)(points.gradient)
    return points.position + length * jax.vmap(base.root)(middle), noise, middle


@partial(jit, quick=True)
def _leapfrog_end(
    after: Any, before: Any, noise: Positions, middle: Positions, metric: Euclidean, length: Scalar
) -> PerPosition:
    """Probabilities with which the steps are accepted."""
    end = middle + 0.5 * length * jax.vmap(metric.inverse_mass.root_transposed)(after.gradient)
    kinetic = 0.5 * (noise**2 - end**2).sum(axis=1)
    return jnp.minimum(1.0, jnp.exp(after.logdensity - before.logdensity + kinetic))


@partial(jit, quick=True)
def _begin(step_size: Scalar, target: Scalar, recent: jax.Array, longest: Scalar, watch_worst: Flag) -> DualAveraging:
    """Dual averaging around a step size: one program, which also brings all of its numbers to the device."""
    begin, _, _ = _dual_averaging()
    search = begin(step_size)
    search = search._replace(mu=search.log_x, log_x_avg=search.log_x)
    search = jax.tree.map(lambda leaf: jnp.asarray(leaf, step_size.dtype), search)
    return DualAveraging(search, target, jnp.asarray(True), watch_worst, recent, longest)


def _dual_averaging() -> Any:
    return require("blackjax.optimizers.dual_averaging", "sample", "Warm-up of the step size").dual_averaging()
