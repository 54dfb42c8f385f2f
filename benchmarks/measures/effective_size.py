"""Effective sizes and R̂ of single quantities and of whole runs, and efficiency at the best step size."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from benchmarks.measures.scalars import Draws
from mongepatch._extras import require
from mongepatch.chains.effective_size import TAILS, smallest_ess
from mongepatch.paper.quiet import sample_quietly
from mongepatch.sampling.diagnostics import smallest_ess_of_run
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import DataTree

AGREED, NEARLY = 1.01, 1.05
"""Largest R̂ of chains that agree; and of chains that would agree with more draws."""


def ess_per_1000_grads(tree: "DataTree") -> float:
    """The smallest effective size of a run per 1000 gradient-equivalents."""
    return 1000 * smallest_ess_of_run(tree) / float(tree["sample_stats"]["n_grad"].sum())


def sampled_efficiency(target: Target, seed: int, draws: int, **settings: Any) -> float:
    """The smallest effective size per 1000 gradient-equivalents of eight chains, from 0 without another start."""
    init = jnp.zeros(target.dimension) if target.start is None else None
    tree = sample_quietly(target, init, draws=draws, chains=8, seed=seed, progress=False, **settings)
    return ess_per_1000_grads(tree)


def best_efficiency(
    measure: Callable[[float, int], float], steps: Sequence[float], seeds: Sequence[int]
) -> tuple[float, float]:
    """The largest median over seeds of `measure(step, seed)`, and the step that gives it."""
    return max((float(np.median([measure(step, seed) for seed in seeds])), step) for step in steps)


def effective_size(draws: np.ndarray, method: str) -> float:
    """ArviZ's effective size of one quantity [chain, draw]; 1 for draws that never change."""
    ess = require("arviz_stats.base", "sample", "A benchmark").array_stats.ess
    draws = draws.astype(float)
    if np.ptp(draws) == 0:
        return 1.0
    size = float(ess(draws, chain_axis=0, draw_axis=1, method=method, prob=TAILS if method == "tail" else None))
    return size if np.isfinite(size) else 1.0


def smallest_ess_of(draws: Draws) -> float:
    """The smallest effective size of quantities [chain, draw]: of bulk, of tails and of squares.

    Draws that never change count as one.
    """
    return max(1.0, smallest_ess(np.stack([values.astype(float) for values in draws.values()], axis=-1)))


def largest_r_hat(draws: Draws) -> float:
    """Largest R̂ of quantities [chain, draw], rank-normalised; infinite where a chain does not move."""
    rhat = require("arviz_stats.base", "sample", "A benchmark").array_stats.rhat
    values = [float(rhat(x, chain_axis=0, draw_axis=1, method="rank")) for x in draws.values()]
    return float(np.nan_to_num(max(values, key=lambda value: np.nan_to_num(value, nan=np.inf)), nan=np.inf))
