"""The smallest effective sample size of many quantities, which a fixed trajectory length cannot flatter."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from mongepatch._extras import require

Method = Literal["bulk", "tail", "mean"]


def smallest_ess(draws: np.ndarray, methods: Sequence[Method] = ("bulk", "tail")) -> float:
    """The least effective sample size over the quantities of draws [chain, draw, quantity].

    Every quantity is judged by each of ArviZ's `methods`, and so are its squares around the mean, by the first of them.
    Trajectories of a fixed length often make negatively correlated draws, whose bulk size exceeds the number of draws
    while tails and squares lag behind. It is 0 where a quantity does not move, and where there are fewer than 4 draws.
    """
    squares = (draws - draws.mean(axis=(0, 1))) ** 2
    quantities = np.concatenate([draws, squares], axis=-1)
    if draws.shape[1] < 4 or not np.isfinite(quantities).all() or not (np.ptp(quantities, axis=(0, 1)) > 0).all():
        return 0.0
    ess = require("arviz_stats.base", "sample", "An effective sample size").array_stats.ess
    sizes = [
        ess(quantities if method == methods[0] else draws, chain_axis=0, draw_axis=1, method=method)
        for method in methods
    ]
    return float(min(np.min(size) for size in sizes))
