"""Effective sample sizes that a fixed trajectory length cannot flatter."""

from typing import TYPE_CHECKING

from mongepatch._extras import require

if TYPE_CHECKING:
    from xarray import DataTree


def smallest_ess(tree: "DataTree") -> float:
    """The least effective sample size of a run, over all parameters: bulk, tail, and bulk of the squares.

    Trajectories of a fixed length often make negatively correlated draws, whose bulk size exceeds the number of draws
    while tails and squares lag behind.
    """
    ess = require("arviz_stats", "sample", "An effective sample size").ess
    posterior = tree["posterior"].to_dataset()
    sizes = (ess(posterior), ess(posterior, method="tail"), ess((posterior - posterior.mean(("chain", "draw"))) ** 2))
    return min(float(size.to_array().min()) for size in sizes)


def ess_per_1000_grads(tree: "DataTree") -> float:
    """The same for every 1000 gradient-equivalents of the run."""
    return 1000 * smallest_ess(tree) / float(tree["sample_stats"]["n_grad"].sum())
