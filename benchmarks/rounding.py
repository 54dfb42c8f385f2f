"""Rounding of the energy in single precision: how much comes from the log density itself, and how much from sums of it.

Acceptance depends on the difference of two energies. In single precision both the log density and the sums that make an
energy of it are rounded. Better sums can only mend the second part.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.device.problems import precision
from benchmarks.step import synthetic_regression
from mongepatch.paper.console import print_table
from mongepatch.sampling.diagnostics import MAX_ROUNDING

ROWS, DIMENSION, PAIRS = (270, 10_000, 100_000, 1_000_000), 14, 64


class Roundings(NamedTuple):
    """Root mean squares over pairs of points, as far apart as the ends of a trajectory are."""

    largest: float
    """The largest log density without its sign."""
    density: float
    """Error of differences of the log density."""
    sums: float
    """Error that the sums of log density and kinetic energy add to it."""

    @property
    def warned_of(self) -> float:
        """What `sample` takes the error to be: the largest energy times the rounding unit."""
        return self.largest * float(np.finfo(np.float32).eps)


def roundings(rows: int, dimension: int = DIMENSION, pairs: int = PAIRS) -> Roundings:
    """Of a logistic regression, at points within its posterior's width."""
    rng = np.random.default_rng(0)
    width = 2.0 / np.sqrt(rows)  # of a coefficient's posterior, nearly
    ends = (width * rng.normal(size=(2, pairs, dimension))).astype(np.float32)
    kinetic = np.float32(0.5) * (rng.normal(size=(2, pairs, dimension)).astype(np.float32) ** 2).sum(axis=-1)
    found = {}
    for double in (True, False):
        with precision(double):
            density = jax.jit(jax.vmap(synthetic_regression(rows, dimension).logdensity))
            found[double] = np.stack([np.asarray(density(jnp.asarray(points))) for points in ends])
    exact, single = found[True], found[False]
    in_density = (single[0].astype(float) - single[1]) - (exact[0] - exact[1])
    energies = kinetic - single
    terms = (kinetic.astype(float) - single)[0] - (kinetic.astype(float) - single)[1]
    in_sums = (energies[0] - energies[1]).astype(float) - terms
    return Roundings(float(np.abs(single).max()), _rms(in_density), _rms(in_sums))


def run(rows: Sequence[int] = ROWS) -> dict[int, Roundings]:
    """Print a line for each number of observations."""
    found = {count: roundings(count) for count in rows}
    print_table(
        f"Rounding of energy differences in single precision, logistic regression with D = {DIMENSION}",
        ("observations", "largest |log density|", "of the log density", "of sums", "as sample estimates it"),
        [
            (f"{count:,}", f"{one.largest:,.0f}", f"{one.density:.1e}", f"{one.sums:.1e}", f"{one.warned_of:.1e}")
            for count, one in found.items()
        ],
        [f"Root mean squares of {PAIRS} pairs of points. `sample` warns when its estimate is above {MAX_ROUNDING}."],
    )
    return found


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))
