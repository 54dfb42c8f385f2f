"""The smallest effective sample size of many quantities, which a fixed trajectory length cannot flatter."""

from collections.abc import Sequence

import numpy as np

from mongepatch._extras import require

TAILS = (0.05, 0.95)
"""The tail size of a quantity is the smaller of the effective sizes of these quantiles."""
MAX_CHAINS = 64
"""Chains that autocorrelations are estimated from; of more chains, so many evenly spaced ones."""


def evenly_spaced_chains(chains: int) -> np.ndarray:
    """The numbers of at most `MAX_CHAINS` chains, evenly spaced from the first to the last; all where there are fewer.

    Chains are exchangeable, so that some of them tell how autocorrelated all are, at a cost that does not grow.
    """
    return np.linspace(0, chains - 1, min(chains, MAX_CHAINS)).round().astype(int)


def smallest_ess(draws: np.ndarray, methods: Sequence[str] = ("bulk", "tail")) -> float:
    """The least effective sample size over the quantities of draws [chain, draw, quantity].

    Every quantity is judged by each of ArviZ's `methods`, and its squares around the mean by the first of them.
    Trajectories of a fixed length often make negatively correlated draws. Their bulk size exceeds the number of draws,
    while tails and squares lag behind. It is 0 where a quantity does not move, without quantities, and with
    fewer than 4 draws. Of more than 64 chains see `effective_sizes`.
    """
    return min(
        float(effective_sizes(draws, method, squares=method == methods[0]).min(initial=np.inf)) for method in methods
    )


def effective_sizes(draws: np.ndarray, method: str, *, squares: bool) -> np.ndarray:
    """The effective sample size of each quantity of draws [chain, draw, quantity] and, if asked, of its squares.

    One zero stands for all where a quantity does not move, without quantities, and with fewer than 4 draws. Of more
    than 64 chains, it is the size of 64 evenly spaced ones times the number of chains over 64.
    """
    chains = len(draws)
    draws = draws[evenly_spaced_chains(chains)] if chains > MAX_CHAINS else draws
    values = _with_squares(draws)
    if draws.shape[1] < 4 or not draws.size or not np.isfinite(values).all():
        return np.zeros(1)
    if not (np.ptp(values, axis=(0, 1)) > 0).all():
        return np.zeros(1)
    ess = require("arviz_stats.base", "sample", "An effective sample size").array_stats.ess
    tails = TAILS if method == "tail" else None
    chosen = values if squares else draws
    sizes = np.asarray(ess(chosen, chain_axis=0, draw_axis=1, method=method, prob=tails), float)
    return sizes * (chains / len(draws))


def effective_sizes_by_chains(draws: np.ndarray) -> np.ndarray:
    """The effective sample size of the mean of each quantity of draws [chain, draw, quantity], and of its squares.

    It is the variance of all draws over that of the means of chains, times the number of chains, and known to √(2/n) of
    it with n chains, however few draws they have. One zero stands for all where a quantity does not move.
    """
    values = _with_squares(draws.astype(np.float64))
    between = values.mean(axis=1).var(axis=0, ddof=1)
    if not values.size or not np.isfinite(values).all() or not (between > 0).all():
        return np.zeros(1)
    sizes: np.ndarray = len(draws) * values.var(axis=(0, 1)) / between
    return sizes


def _with_squares(draws: np.ndarray) -> np.ndarray:
    """Quantities, followed by their squares around the mean."""
    return np.concatenate([draws, (draws - draws.mean(axis=(0, 1))) ** 2], axis=-1)
