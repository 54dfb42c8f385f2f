"""The smallest effective sample size of many quantities, which a fixed trajectory length cannot flatter."""

from collections.abc import Sequence

import numpy as np

from mongepatch._extras import require

TAILS = (0.05, 0.95)
"""The tail size of a quantity is the smaller of the effective sizes of these quantiles."""


def smallest_ess(draws: np.ndarray, methods: Sequence[str] = ("bulk", "tail")) -> float:
    """The least effective sample size over the quantities of draws [chain, draw, quantity].

    Every quantity is judged by each of ArviZ's `methods`, and its squares around the mean by the first of them.
    Trajectories of a fixed length often make negatively correlated draws. Their bulk size exceeds the number of draws,
    while tails and squares lag behind. It is 0 where a quantity does not move, without quantities, and with
    fewer than 4 draws.
    """
    squares = (draws - draws.mean(axis=(0, 1))) ** 2
    with_squares = np.concatenate([draws, squares], axis=-1)
    if draws.shape[1] < 4 or not draws.size or not np.isfinite(with_squares).all():
        return 0.0
    if not (np.ptp(with_squares, axis=(0, 1)) > 0).all():
        return 0.0
    ess = require("arviz_stats.base", "sample", "An effective sample size").array_stats.ess

    def least(values: np.ndarray, method: str) -> float:
        tails = TAILS if method == "tail" else None
        return float(np.min(ess(values, chain_axis=0, draw_axis=1, method=method, prob=tails)))

    return min(least(with_squares if method == methods[0] else draws, method) for method in methods)
