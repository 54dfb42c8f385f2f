"""The bias of stopping at the first good figure: what a run that stops by itself says of its effective draws."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mongepatch._extras import require
from mongepatch.metrics import Euclidean
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.sampling import Until
from mongepatch.trajectories import Static

DIMENSION = 5
STEPS = {"slow": 0.1, "medium": 0.3, "fast": 0.6}
"""Step sizes of three static trajectories on a standard normal density: one mixes slowly."""


class Errors(NamedTuple):
    """Errors of the means of runs with several seeds."""

    draws: float
    """Draws of a chain, on average."""
    claimed: float
    """The smallest effective sample size over parameters, as ArviZ estimates it at the end; the median over seeds."""
    ratio: float
    """Mean effective size that ArviZ claims for a mean, relative to the one that errors of means show."""
    covered: float
    """Fraction of means that are within 1.96 claimed standard errors of the truth."""


def errors_of(step_size: float, seeds: int, **options: Any) -> Errors:
    """Run with several seeds, and compare means with the truth, which is 0."""
    settings = {"metric": Euclidean(), "trajectory": Static(4), "step_size": step_size, "warmup": 0, "progress": False}
    ess = require("arviz_stats.base", "sample", "An effective sample size").array_stats.ess
    lengths, means, sizes = [], [], []
    for seed in range(seeds):
        start = np.random.default_rng(seed).normal(size=(4, DIMENSION))  # exact draws: no warm-up is needed
        tree = sample_quietly(
            lambda x: -0.5 * (x**2).sum(), jnp.array(start), init_per_chain=True, seed=seed, **settings, **options
        )
        values = np.asarray(tree["posterior"]["x"])
        lengths.append(values.shape[1])
        means.append(values.mean(axis=(0, 1)))
        sizes.append(ess(values, chain_axis=0, draw_axis=1, method="mean"))
    squared, claimed = np.array(means) ** 2, np.array(sizes)
    shown = 1.0 / squared.mean()  # the variance of a parameter is 1
    covered = float((squared * claimed < 1.96**2).mean())
    return Errors(
        float(np.mean(lengths)), float(np.median(claimed.min(axis=1))), float(claimed.mean() / shown), covered
    )


def run(seeds: int = 200, ess: float = 400.0) -> dict[str, tuple[Errors, Errors]]:
    """Print errors of runs that stop at a target, and of runs of the same length on average that do not look."""
    found, rows = {}, []
    for name, step_size in STEPS.items():
        stopped = errors_of(step_size, seeds, draws=100_000, until=Until(ess=ess))
        fixed = errors_of(step_size, seeds, draws=round(stopped.draws))
        found[name] = (stopped, fixed)
        for words, errors in (("stops", stopped), ("does not look", fixed)):
            rows.append(
                (
                    f"{name}, {words}",
                    f"{errors.draws:,.0f}",
                    f"{errors.claimed:,.0f}",
                    f"{errors.ratio:.2f}",
                    f"{errors.covered:.1%}",
                )
            )
    print_table(
        f"until=Until(ess={ess:g}), {seeds} seeds, a normal density, D = {DIMENSION}",
        ("", "draws", "smallest ESS", "claimed / shown ESS", "within 1.96 standard errors"),
        rows,
    )
    return found
