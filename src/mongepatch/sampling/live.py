"""R̂ and effective sample sizes of a run that goes on, in memory that does not grow with its draws."""

from typing import NamedTuple

import numpy as np

from mongepatch._extras import require
from mongepatch.chains.effective_size import evenly_spaced_chains

_BATCHES = 64
"""Each chain's draws are summarised by between this many and twice as many batches of equal length."""
MAX_QUANTITIES = 1000
"""Quantities that are looked at; in larger models, so many evenly spaced ones."""
_STANDARDISED_BY = 32
"""Draws of each chain by whose mean and scale quantities are standardised, so that powers lose no digits."""
_BLOCK = 512
"""Draws that are summed at once."""
MIN_DRAWS = 100
"""Draws of each chain before which nothing is estimated."""


class Estimates(NamedTuple):
    """What is known so far."""

    r_hat: float
    """The largest split R̂ of all quantities and of their squares around the mean; NaN while there are few draws."""
    ess: float
    """The smallest effective sample size of all of these; NaN while there are few draws."""


NOTHING = Estimates(np.nan, np.nan)


class LiveDiagnostics:
    """Sums of y, y² and y⁴ over batches of draws, y being a standardised quantity.

    Whenever there are twice `_BATCHES` batches, neighbours are added up. The variance of batch means, together with
    Geyer's estimate of how correlated these are, gives the effective sample size: s² · ESS(means)/Var(means).
    """

    def __init__(self) -> None:
        self._first: list[np.ndarray] = []
        self._arrays: dict[str, np.ndarray] = {}
        self._batch, self._full, self._partial, self._chains = 1, 0, 0, 0

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All that is known, for a checkpoint; nothing before the first draws are standardised."""
        if not self._arrays:
            return {"first": np.concatenate(self._first)} if self._first else {}
        counts = np.array([self._batch, self._full, self._partial, self._chains])
        return {**self._arrays, "counts": counts}

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray]) -> "LiveDiagnostics":
        """The inverse of `arrays`."""
        made = cls()
        if "counts" in arrays:
            made._batch, made._full, made._partial, made._chains = (int(count) for count in arrays["counts"])
            made._arrays = {name: values.copy() for name, values in arrays.items() if name != "counts"}
        elif "first" in arrays:
            made._first, made._chains = [arrays["first"]], arrays["first"].shape[1]
        return made

    def add(self, positions: np.ndarray, log_density: np.ndarray) -> None:
        """Take draws: flat positions [draw, chain, dimension] and log densities [draw, chain]."""
        for first in range(0, len(positions), _BLOCK):  # what fits into a processor's cache is summed fastest
            self._add(positions[first : first + _BLOCK], log_density[first : first + _BLOCK])

    def _add(self, positions: np.ndarray, log_density: np.ndarray) -> None:
        self._chains = self._chains or positions.shape[1]
        wanted = evenly_spaced_chains(positions.shape[1])
        step = -(-positions.shape[2] // MAX_QUANTITIES)
        values = np.concatenate([positions[:, wanted, ::step], log_density[:, wanted, None]], axis=-1, dtype=np.float64)
        if self._arrays:
            self._accumulate(values)
            return
        self._first.append(values)
        if sum(map(len, self._first)) >= _STANDARDISED_BY:
            whole = np.concatenate(self._first)
            self._first = []
            self._begin(whole[:_STANDARDISED_BY])
            self._accumulate(whole)

    def estimates(self, *, ess: bool = True) -> Estimates:
        """R̂, and the effective sample size where it is wanted: it takes longer."""
        if self._full * self._batch < MIN_DRAWS:
            return NOTHING
        # Means of y, y² and y⁴ over each batch, [chain, batch, quantity].
        first, squared, fourth = self._arrays["sums"][:, :, : self._full] / self._batch
        means = np.concatenate([first, squared], axis=-1)
        squares = np.concatenate([squared, fourth], axis=-1)
        moving = np.ptp(means, axis=(0, 1)) > 0
        if not np.isfinite(means).all():
            return Estimates(np.inf, 0.0)
        if not moving.any():
            return NOTHING
        means, squares = means[..., moving], squares[..., moving]
        sizes = self._effective_sizes(means, squares) if ess else np.array([np.nan])
        return Estimates(float(self._split_r_hats(means, squares).max()), float(sizes.min()))

    def _split_r_hats(self, means: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """√((W (n−1)/n + B) / W) of half chains, of so many draws n."""
        half = means.shape[1] // 2
        parts = [(means[:, :half], squares[:, :half]), (means[:, -half:], squares[:, -half:])]
        centers = np.concatenate([mean.mean(axis=1) for mean, _ in parts])
        variances = np.concatenate([square.mean(axis=1) for _, square in parts]) - centers**2
        within, between = variances.mean(axis=0), centers.var(axis=0, ddof=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sqrt((within + between) / within)

    def _effective_sizes(self, means: np.ndarray, squares: np.ndarray) -> np.ndarray:
        ess = require("arviz_stats.base", "sample", "An effective sample size").array_stats.ess
        of_means = np.asarray(ess(means, chain_axis=0, draw_axis=1, method="mean"), float)
        total = squares.mean(axis=(0, 1)) - means.mean(axis=(0, 1)) ** 2
        ratio = total / means.var(axis=(0, 1))
        return of_means * np.maximum(ratio, 1.0) * (self._chains / len(means))

    def _begin(self, first: np.ndarray) -> None:
        center, scale = first.mean(axis=(0, 1)), first.std(axis=(0, 1))
        chains, quantities = first.shape[1:]
        self._arrays = {
            "center": center,
            "scale": np.where(scale > 0, scale, 1.0),
            "sums": np.zeros((3, chains, 2 * _BATCHES, quantities)),
            "partial": np.zeros((3, chains, quantities)),
        }

    def _accumulate(self, values: np.ndarray) -> None:
        values -= self._arrays["center"]
        values /= self._arrays["scale"]
        while len(values):
            room = (2 * _BATCHES - self._full) * self._batch - self._partial
            self._fill(values[:room])
            values = values[room:]
            if self._full == 2 * _BATCHES:
                self._merge()

    def _fill(self, values: np.ndarray) -> None:
        """Add draws that fit into the batches that are left."""
        starts = np.concatenate([[0], np.arange(self._batch - self._partial, len(values), self._batch)])
        squared = values**2
        parts = [np.add.reduceat(powers, starts, axis=0) for powers in (values, squared, squared**2)]
        sums = np.stack(parts).swapaxes(1, 2)  # [power, chain, batch, quantity]
        sums[:, :, 0] += self._arrays["partial"]
        filled, self._partial = divmod(self._partial + len(values), self._batch)
        self._arrays["sums"][:, :, self._full : self._full + filled] = sums[:, :, :filled]
        self._full += filled
        self._arrays["partial"] = sums[:, :, filled].copy() if self._partial else np.zeros_like(sums[:, :, 0])

    def _merge(self) -> None:
        sums = self._arrays["sums"]
        sums[:, :, :_BATCHES] = sums[:, :, 0::2] + sums[:, :, 1::2]
        self._batch, self._full = 2 * self._batch, _BATCHES
