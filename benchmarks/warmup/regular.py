"""Posteriors that NUTS samples well: efficiency compared with NUTS, deviations, and runs from a bad start."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measures.effective_size import ess_per_1000_grads
from benchmarks.measures.reference import largest_deviation
from benchmarks.warmup.problems import ReferenceProblem
from mongepatch import baselines
from mongepatch._extras import require
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly

if TYPE_CHECKING:
    from xarray import DataTree

FAR = 10.0
"""Distance of a bad start from the mean, in standard deviations."""
SHORT = 500
"""Warm-up draws from there."""


class EfficiencyComparison(NamedTuple):
    """Measurements of one problem."""

    name: str
    ours: float
    theirs: float
    ratio: float
    deviation: float
    """The largest over all seeds, in standard errors."""
    chosen: str


def measure(problem: ReferenceProblem, draws: int, seeds: Sequence[int]) -> EfficiencyComparison:
    """Medians over seeds of effective draws per 1000 gradients, ours and BlackJAX's."""
    ours, theirs, deviations = [], [], []
    for seed in seeds:
        tree = sample_quietly(problem.target, problem.init, draws=draws, seed=seed, progress=False)
        ours.append(ess_per_1000_grads(tree))
        deviations.append(largest_deviation(problem.quantities(_arrays(tree)), problem.truth))
        theirs.append(ess_per_1000_grads(baselines.nuts(problem.target, problem.init, draws=draws, seed=seed)))
    ratio = float(np.median(ours) / np.median(theirs))
    chosen = str(tree["posterior"].attrs["chosen"])
    return EfficiencyComparison(
        problem.name, float(np.median(ours)), float(np.median(theirs)), ratio, max(deviations), chosen
    )


def far_start(problem: ReferenceProblem, draws: int, seeds: Sequence[int]) -> tuple[float, float]:
    """The largest R̂ and deviation over seeds of runs with a bad start and a short warm-up."""
    rhat = require("arviz_stats", "sample", "A benchmark").rhat
    worst, deviations = [], []
    for seed in seeds:
        tree = sample_quietly(
            problem.target,
            far_points(problem, seed),
            init_per_chain=True,
            draws=draws,
            warmup=SHORT,
            seed=seed,
            progress=False,
        )
        worst.append(max(float(values.max()) for values in rhat(tree["posterior"].to_dataset()).values()))
        deviations.append(largest_deviation(problem.quantities(_arrays(tree)), problem.truth))
    return max(worst), max(deviations)


def far_points(problem: ReferenceProblem, seed: int, chains: int = 4) -> Any:
    """A point for each chain, `FAR` standard deviations from the mean in a random direction, or where ℓ is finite."""
    rows = problem.typical
    directions = np.random.default_rng(seed).normal(size=(chains, len(rows)))
    directions *= FAR / np.linalg.norm(directions, axis=1, keepdims=True)
    # A random combination of centred draws is random in the posterior's own scale and correlations.
    mean, offsets = rows.mean(axis=0), directions @ (rows - rows.mean(axis=0))
    while not (usable := np.isfinite(jax.vmap(problem.target)(jnp.asarray(mean + offsets)))).all():
        offsets[~usable] /= 2.0  # beyond what floating-point numbers hold
    return jax.vmap(problem.target.layout.tree)(jnp.asarray(mean + offsets))


def table(problems: Iterable[ReferenceProblem], draws: int, seeds: Sequence[int]) -> list[EfficiencyComparison]:
    """Print a row for each problem."""
    lines, starts = [], []
    for problem in problems:
        lines.append(measure(problem, draws, seeds))
        starts.append(far_start(problem, draws, seeds))
        # The table comes at the end; this reports progress.
        figures = (lines[-1].ours, lines[-1].theirs, lines[-1].ratio, lines[-1].deviation, *starts[-1])
        print(problem.name, *(f"{figure:.3g}" for figure in figures), file=sys.stderr, flush=True)
    if not lines:
        return []
    print_table(
        f"Everything automatic, 4 × {draws:,} draws, medians of {len(seeds)} seeds",
        ("", "ours", "BlackJAX NUTS", "ratio", "worst error", "far start: R̂", "worst error", "chosen (last seed)"),
        [
            (
                line.name,
                f"{line.ours:.3g}",
                f"{line.theirs:.3g}",
                f"{line.ratio:.2f}",
                f"{line.deviation:.1f}",
                f"{r_hat:.3f}",
                f"{deviation:.1f}",
                line.chosen,
            )
            for line, (r_hat, deviation) in zip(lines, starts, strict=True)
        ],
        [
            "ours, BlackJAX NUTS: smallest effective size of bulk, tail and squares per 1000 gradient-equivalents.",
            "worst error: largest deviation of a mean or standard deviation over all quantities and seeds, in standard "
            f"errors. far start: {FAR:.0f} standard deviations from the mean, {SHORT} draws of warm-up.",
        ],
    )
    return lines


def _arrays(tree: "DataTree") -> dict[str, np.ndarray]:
    return {str(name): np.asarray(values) for name, values in tree["posterior"].to_dataset().items()}
