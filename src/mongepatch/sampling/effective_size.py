"""The effective sample size that a whole run is judged by."""

from typing import TYPE_CHECKING

import numpy as np

from mongepatch.chains.effective_size import smallest_ess

if TYPE_CHECKING:
    from xarray import DataTree


def smallest_ess_of_run(tree: "DataTree") -> float:
    """The smallest effective sample size over all parameters of a result: of bulk, of tails and of squares.

    Entries that are the same in every draw, as of triangular matrices, are left out.
    """
    columns = [
        np.asarray(values.transpose("chain", "draw", ...), float).reshape(*values.shape[:2], -1)
        for values in tree["posterior"].to_dataset().values()
    ]
    draws = np.concatenate(columns, axis=-1)
    return smallest_ess(draws[..., np.ptp(draws, axis=(0, 1)) > 0])
