"""What a reader of the draws must know before using them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mongepatch._extras import require
from mongepatch.kernels import Failure

if TYPE_CHECKING:
    from xarray import DataTree

WORST_R_HAT = 1.05
"""R̂ above which chains are said not to agree."""
FEWEST_DRAWS = 100
"""Draws of a chain below which R̂ says nothing."""
MOST_UNSOLVED = 0.01
"""Share of trajectories with an implicit step that failed, above which a run must not be trusted."""
MOST_DEEP = 0.01
"""Share of trajectories that may end at the maximum depth."""
LARGEST_ROUNDING = 0.01
"""Rounding of the energy above which acceptance is said to be touched."""


def verdict(tree: "DataTree") -> Iterator[str]:
    """A sentence for everything that is wrong with a run; none where all is well."""
    yield from _failures(np.asarray(tree["sample_stats"]["failure"]), np.asarray(tree["sample_stats"]["accepted"]))
    yield from _deep(tree)
    yield from _disagreement(tree)
    energy = np.asarray(tree["sample_stats"]["energy"])
    rounding = float(np.finfo(energy.dtype).eps) * float(np.abs(energy).max())
    if rounding > LARGEST_ROUNDING:
        yield (
            f"Rounding errors of the energy are about {rounding:.2g}, enough to touch acceptance: switch double "
            'precision on, jax.config.update("jax_enable_x64", True), before making any array.'
        )


def _failures(failures: np.ndarray, accepted: np.ndarray) -> Iterator[str]:
    counts = {code: int((failures == code).sum()) for code in Failure}
    undefined, diverged = counts[Failure.NOT_FINITE], counts[Failure.ENERGY]
    if not accepted.any():
        yield "Nothing was accepted: the draws are the starting points. Try a step_size that is ten times smaller."
        diverged = undefined = 0
    yield from _unsolved(counts[Failure.NON_CONVERGENT], counts[Failure.NON_REVERSIBLE], failures.size)
    if diverged:
        yield (
            f"{diverged + undefined:,} of {failures.size:,} trajectories diverged: the step size is too long for the "
            "sharpest parts of the density, which the draws may miss. Try a smaller step_size, and see whether the "
            "tails change." + (f" {undefined:,} of them met a density that is NaN or infinite." if undefined else "")
        )
    elif undefined:
        yield (
            f"{undefined:,} of {failures.size:,} trajectories met a density that is NaN or infinite: they left its "
            "support, or it overflows. Transform parameters that must be positive or bounded to the whole real line."
        )


def _unsolved(non_convergent: int, non_reversible: int, total: int) -> Iterator[str]:
    """Implicit steps are exact where they can be solved and lead back; where they cannot, no draw will ever be."""
    unsolved = non_convergent + non_reversible
    if unsolved:
        trust = "The run must not be trusted: " if unsolved > MOST_UNSOLVED * total else ""
        yield (
            f"{trust}{unsolved:,} of {total:,} trajectories had an implicit step that could not be solved "
            f"({non_convergent:,}) or did not lead back ({non_reversible:,}). They were rejected, so draws are missing "
            "where that happens. Try a smaller step_size."
        )


def _deep(tree: "DataTree") -> Iterator[str]:
    stats = tree["sample_stats"].to_dataset()
    share = float(stats["reached_max_treedepth"].mean()) if "reached_max_treedepth" in stats else 0.0
    if share > MOST_DEEP:
        yield (
            f"{share:.0%} of the trajectories reached max_depth before they turned around: draws are exact, and more "
            "alike than they need to be. Try a longer step_size, an inverse_mass in the scale of the posterior, or a "
            "larger max_depth."
        )


def _disagreement(tree: "DataTree") -> Iterator[str]:
    stats = tree["sample_stats"].to_dataset()
    if stats.sizes["chain"] < 2 or stats.sizes["draw"] < FEWEST_DRAWS or not bool(stats["accepted"].any()):
        return
    rhat = require("arviz_stats", "sample", "mongepatch.sample").rhat
    everything = tree["posterior"].to_dataset().assign({"log density": stats["lp"]})
    worst = {str(name): float(values.max()) for name, values in rhat(everything, method="split").items()}
    name = max(worst, key=lambda name: worst[name] if np.isfinite(worst[name]) else np.inf)
    if not worst[name] <= WORST_R_HAT:
        levels = ", ".join(f"{level:.3g}" for level in np.asarray(stats["lp"].mean("draw"))[:8])
        yield (
            f"The chains do not agree: R̂ of {name!r} is {worst[name]:.2f}, and the chains' mean log densities are "
            f"{levels}. They need more draws or warmup, longer trajectories, an inverse_mass in the scale of the "
            "posterior, or a smaller alpha."
        )
