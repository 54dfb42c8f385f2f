"""Trees of NUTS and static trajectories by one compiled program.

Warm-up tries both. To compile a second sampler takes longer than to make a few thousand draws with either.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp

from mongepatch._arrays import on_device
from mongepatch._pytree import pytree
from mongepatch._typing import PRNGKey, ScalarLike
from mongepatch.integrators import Phase
from mongepatch.trajectories.base import Dynamics, Trajectory, Transition
from mongepatch.trajectories.nuts import NUTS
from mongepatch.trajectories.static import Static
from mongepatch.trajectories.tree import grow


@pytree
@dataclass(frozen=True)
class NUTSOrStatic:
    """NUTS or static trajectories, whichever a traced value says.

    A static trajectory is one branch of a tree, in which nobody looks for turns, and whose last leaf is accepted with
    probability min(1, exp(E₀ − E₁ + log-volume)). It does not merge kicks, and costs as much per step as one of NUTS:
    in a Euclidean metric, as much as any.
    """

    nuts: NUTS
    static: Static
    is_static: Any

    @classmethod
    def trees(cls, nuts: NUTS) -> "NUTSOrStatic":
        """NUTS, to begin with."""
        return cls(nuts, Static(1, 0.0), on_device(False))

    def with_static(self, static: Static) -> "NUTSOrStatic":
        """Static trajectories, by the same program."""
        return replace(self, static=static, is_static=on_device(True))

    def propose(
        self, key: PRNGKey, length_key: PRNGKey, dynamics: Dynamics, start: Phase, divergence_threshold: ScalarLike
    ) -> Transition:
        """A leaf of the tree around the start, or the end of a static trajectory."""
        steps = jnp.where(self.is_static, self.static.length(length_key), 0)
        dynamics = dynamics.stretched(jnp.where(self.is_static, self.static.stretch(length_key), 1.0))
        builder = self.nuts.builder(dynamics, divergence_threshold)._replace(fixed_steps=steps)
        return grow(builder, self.nuts.max_depth, key, start)

    @property
    def in_use(self) -> NUTS | Static:
        """The one of both that draws are made by."""
        return self.static if bool(self.is_static) else self.nuts


def in_use(trajectory: Trajectory | None) -> Any:
    """The trajectory that draws are made by."""
    return trajectory.in_use if isinstance(trajectory, NUTSOrStatic) else trajectory


def nuts_of(trajectory: Trajectory | None) -> NUTS | None:
    """What makes its trees; None for a trajectory without."""
    nuts = trajectory.nuts if isinstance(trajectory, NUTSOrStatic) else trajectory
    return nuts if isinstance(nuts, NUTS) else None


def meaningless_statistics(trajectory: Trajectory | None) -> tuple[str, ...]:
    """Statistics of draws that say nothing of the trajectory that they are made by."""
    of_trees = ("tree_depth", "reached_max_treedepth")
    return of_trees if isinstance(trajectory, NUTSOrStatic) and bool(trajectory.is_static) else ()
