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
LARGEST_ROUNDING = 0.01
"""Rounding of the energy above which acceptance is said to be touched."""


def verdict(tree: "DataTree") -> Iterator[str]:
    """A sentence for everything that is wrong with a run; none where all is well."""
    yield from _failures(np.asarray(tree["sample_stats"]["failure"]), np.asarray(tree["sample_stats"]["accepted"]))
    yield from _disagreement(tree)
    energy = np.asarray(tree["sample_stats"]["energy"])
    rounding = float(np.finfo(energy.dtype).eps) * float(np.abs(energy).max())
    if rounding > LARGEST_ROUNDING:
        yield (
            f"Rounding errors of the energy are about {rounding:.2g}, enough to touch acceptance: switch double "
            'precision on, jax.config.update("jax_enable_x64", True), before making any array.'
        )


def _failures(failures: np.ndarray, accepted: np.ndarray) -> Iterator[str]:
    diverged, undefined = (failures != Failure.NONE).sum(), (failures == Failure.NOT_FINITE).sum()
    if not accepted.any():
        yield "Nothing was accepted: the draws are the starting points. Try a step_size that is ten times smaller."
    elif undefined and undefined == diverged:
        yield (
            f"{undefined:,} of {failures.size:,} trajectories met a density that is NaN or infinite: they left its "
            "support, or it overflows. Transform parameters that must be positive or bounded to the whole real line."
        )
    elif diverged:
        yield (
            f"{diverged:,} of {failures.size:,} trajectories diverged: the step size is too long for the sharpest "
            "parts of the density, which the draws may miss. Try a smaller step_size, and see whether the tails change."
            + (f" {undefined:,} of them met a density that is NaN or infinite." if undefined else "")
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
