"""The paper's funnels, on which trajectories diverge and estimated effective sizes are too large.

The truth about `a` is known, so that effective sizes follow from errors: the fraction of draws below a quantile has
variance p(1 − p)/n if n draws are independent. A chain that never enters the neck then has a small effective size.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.measures.effective_size import ess_per_1000_grads
from mongepatch import baselines
from mongepatch._extras import require
from mongepatch.metrics import Monge
from mongepatch.paper.console import print_table
from mongepatch.paper.distances import ks_distance
from mongepatch.paper.funnel_runs import TRUTH
from mongepatch.paper.quiet import sample_quietly
from mongepatch.targets import funnel

if TYPE_CHECKING:
    from xarray import DataTree

PROBABILITIES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
VARIANCE = 15.0
START = 5.0
"""The paper's starting point, in every coordinate."""


class FunnelSummary(NamedTuple):
    """Results of several seeds of one sampler."""

    by_error: float
    """Effective draws per 1000 gradient-equivalents, from errors; the smallest over quantiles."""
    nominal: float
    """The same as estimated from the chains; median."""
    distance: float
    """Kolmogorov–Smirnov distance of `a` from its truth; median."""
    alphas: list[float]


def summary(trees: "Sequence[DataTree]") -> FunnelSummary:
    """Summarise several runs."""
    norm = require("scipy.stats", "sample", "A benchmark").norm(0.0, VARIANCE**0.5)
    a = np.concatenate([np.asarray(tree["posterior"]["a"]) for tree in trees])
    stats = [tree["sample_stats"].to_dataset() for tree in trees]
    grads = np.mean([float(one["n_grad"].sum()) / one.sizes["chain"] for one in stats])
    sizes = [p * (1 - p) / np.mean(((a < norm.ppf(p)).mean(axis=1) - p) ** 2) for p in PROBABILITIES]
    distances = [ks_distance(np.asarray(tree["posterior"]["a"]), TRUTH) for tree in trees]
    return FunnelSummary(
        1000 * min(sizes) / grads,
        float(np.median([ess_per_1000_grads(tree) for tree in trees])),
        float(np.median(distances)),
        [float(one["alpha"].max()) if "alpha" in one else 0.0 for one in stats],
    )


def automatic(dimension: int, draws: int, seeds: Sequence[int], **settings: Any) -> FunnelSummary:
    """Our sampler, from the paper's starting point."""
    target = funnel(dimension)
    start = np.full(dimension + 1, START)
    return summary(
        [sample_quietly(target, start, draws=draws, seed=seed, progress=False, **settings) for seed in seeds]
    )


def table(draws: int, seeds: Sequence[int], grid: Sequence[float] = ALPHAS) -> dict[str, FunnelSummary]:
    """Print efficiency on the funnels with one and with ten x's, and for a grid of α."""
    results: dict[str, FunnelSummary] = {}
    for dimension in (1, 10):
        start = np.full(dimension + 1, START)
        runs = [baselines.nuts(funnel(dimension), start, draws=draws, seed=seed) for seed in seeds]
        results[f"D = {dimension}: BlackJAX NUTS"] = summary(runs)
        results[f"D = {dimension}: automatic"] = automatic(dimension, draws, seeds)
        results[f"D = {dimension}: automatic, warmup=500"] = automatic(dimension, draws, seeds, warmup=500)
    for alpha in grid:
        settings = {"metric": Monge(alpha, inverse_mass="auto"), "trajectory": "nuts"}
        results[f"D = 1: α = {alpha:g}"] = automatic(1, draws, seeds, **settings)
    print_table(
        f"The paper's funnels from 5·1, 4 × {draws:,} draws, {len(seeds)} seeds",
        ("", "ESS per 1000 grads, from errors", "as estimated", "KS of a", "α"),
        [
            (
                name,
                f"{result.by_error:.3g}",
                f"{result.nominal:.3g}",
                f"{result.distance:.3f}",
                " ".join(f"{alpha:.2g}" for alpha in result.alphas),
            )
            for name, result in results.items()
        ],
        [
            "From errors: of the fraction of draws below the 1%, 5%, 25%, 50%, 75%, 95% and 99% quantiles of a, the "
            "smallest. As estimated: smallest of bulk, tail and squares; too large where chains miss the neck.",
        ],
    )
    return results
