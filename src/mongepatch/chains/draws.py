"""What draws of many chains depend on, and what they leave behind."""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from mongepatch._typing import LogDensity, PRNGKey, Scalar, ScalarLike
from mongepatch.kernels import Info, Setup
from mongepatch.kernels.base import DIVERGENCE_THRESHOLD
from mongepatch.metrics import Metric
from mongepatch.trajectories import Trajectory


class StepSizePolicy(Protocol):
    """Where the step size comes from, which may change from draw to draw. A pytree."""

    @property
    def step_size(self) -> Scalar:
        """ε of the next draw of every chain."""

    @property
    def adapts(self) -> bool:
        """Whether the next draw may have another ε; asked outside of compiled code."""

    def update(self, acceptance: jax.Array) -> Any:
        """The policy for the next draw, given the acceptance rate of every chain in this one."""


class Tuning(NamedTuple):
    """The tuning parameters of a kernel, but for the step size; all traced, so that changing them never recompiles."""

    metric: Metric
    trajectory: Trajectory | None
    divergence_threshold: ScalarLike = DIVERGENCE_THRESHOLD


class Chunk(NamedTuple):
    """Draws and what there is to know of them, with leading axes (draw, chain)."""

    position: jax.Array
    """In the model's own coordinates."""
    internal: jax.Array
    """In the coordinates that chains move in, which may be others."""
    gradient: jax.Array
    """Of the log density in these."""
    info: Info


def draw_keys(chain_key: PRNGKey, numbers: jax.Array, chains: jax.Array) -> PRNGKey:
    """The randomness of a draw of every chain, by its number and its chain's."""
    return jax.vmap(lambda number, chain: jax.random.fold_in(jax.random.fold_in(chain_key, number), chain))(
        numbers, chains
    )


def setup_of(step_size: Scalar, points: Any, density: LogDensity, tuning: Tuning) -> Setup:
    """All that the next draw of every chain depends on, besides the last one and randomness."""
    length = jnp.asarray(step_size, points.position.dtype)
    return Setup(density, tuning.metric, length, tuning.trajectory, tuning.divergence_threshold)


def acceptance_of(info: Info) -> jax.Array:
    """Acceptance rates that a policy sees.

    A tree that NUTS gave up moves nothing, however probable its leaves were: far out they all are.
    """
    return jnp.where(info.diverging & ~info.accepted, 0.0, info.acceptance_rate)
