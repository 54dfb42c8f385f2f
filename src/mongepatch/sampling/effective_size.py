"""The effective sample size that a run is judged by."""

from typing import TYPE_CHECKING

from mongepatch._extras import require

if TYPE_CHECKING:
    from xarray import DataTree


def smallest_ess(tree: "DataTree") -> float:
    """The smallest effective sample size of a run over all parameters: of bulk, of tails, and of bulk of the squares.

    Trajectories of a fixed length often make negatively correlated draws. Their bulk size exceeds the number of draws,
    while tails and squares lag behind.

    Example:
        >>> tree = mongepatch.sample(logdensity, init)
        >>> smallest_ess(tree) / tree["posterior"].attrs["sampling_time"]  # effective draws per second
    """
    ess = require("arviz_stats", "sample", "An effective sample size").ess
    posterior = tree["posterior"].to_dataset()
    sizes = (ess(posterior), ess(posterior, method="tail"), ess((posterior - posterior.mean(("chain", "draw"))) ** 2))
    return min(float(size.to_array().min()) for size in sizes)
