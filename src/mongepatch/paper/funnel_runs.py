"""The paper's funnel at the paper's settings: one run of a method."""

from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np

from mongepatch.paper.methods import Method, merged, paper
from mongepatch.paper.presets import preset
from mongepatch.paper.quiet import sample_quietly
from mongepatch.targets import funnel
from mongepatch.targets.truth import Normal
from mongepatch.trajectories import Static

if TYPE_CHECKING:
    from xarray import DataTree

TRUTH = Normal(0.0, 15.0**0.5)
"""The marginal of `a`, in every dimension."""
MERGED, PAPER = merged(alpha=1.0), paper(alpha=1.0)


class FunnelRun(NamedTuple):
    """A method and its result on the funnel."""

    method: Method
    tree: "DataTree"

    def draws(self, name: str) -> np.ndarray:
        """All draws of a parameter, of shape (chains, draws, …)."""
        return np.asarray(self.tree["posterior"][name])


def run_method(
    method: Method, dimension: int = 1, *, draws: int | None = None, seed: int = 0, progress: bool = False
) -> FunnelRun:
    """Four chains at the paper's step size, trajectory length and starting point."""
    settings = preset(f"funnel-{dimension}")
    tree = sample_quietly(
        funnel(dimension),
        jnp.full(dimension + 1, jnp.asarray(settings.start)),
        metric=method.metric,
        trajectory=Static(method.refinement * settings.num_steps),
        step_size=settings.step_size / method.refinement,
        scheme=method.scheme,
        draws=settings.draws if draws is None else draws,
        warmup=0,
        seed=seed,
        init_spread=0.0,
        progress=progress,
    )
    return FunnelRun(method, tree)
