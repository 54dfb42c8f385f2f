"""The paper's funnel at the paper's settings, by LMC in the Monge metric and by HMC, over several seeds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mongepatch.paper.console import print_table
from mongepatch.paper.distances import ks_distance
from mongepatch.paper.funnel_runs import MERGED, PAPER, TRUTH, FunnelRun, run_method
from mongepatch.paper.methods import HMC
from mongepatch.sampling.diagnostics import smallest_ess_of_run

QUANTILES = (0.01, 0.05, 0.5, 0.95, 0.99)
FINE_HMC = HMC._replace(name="HMC, a third of the step", refinement=3)
"""The same integration time as the others in three times the steps, which is what an LMC step costs."""


def run(dimension: int, draws: int | None, seeds: int) -> None:
    """Print the first seed in detail, and the median and the worst of all seeds."""
    rows, first = [], []
    for method in (MERGED, PAPER, HMC, FINE_HMC):
        distances, sizes = [], []
        for seed in range(seeds):
            done = run_method(method, dimension, draws=draws, seed=seed)
            if seed == 0:
                first.append(done)
            distances.append(ks_distance(done.draws("a"), TRUTH))
            sizes.append(smallest_ess_of_run(done.tree))
        rows.append(
            (
                method.name,
                f"{np.median(distances):.4f}",
                f"{max(distances):.4f}",
                f"{np.median(sizes):,.0f}",
                f"{min(sizes):,.0f}",
            )
        )
    print_summary(first)
    if seeds == 1:
        return
    print_table(
        f"The same over {seeds} seeds",
        ("", "median KS", "worst KS", "median ESS", "worst ESS"),
        rows,
        [
            "ESS: smallest effective sample size. It measures agreement of a chain with itself, not with the truth.",
        ],
    )


def print_summary(runs: Sequence[FunnelRun]) -> None:
    """Print how close each run is to the distribution of `a`, and its cost."""
    rows: list[tuple[Any, ...]] = [
        ("truth", "", "0.00", f"{TRUTH.sd:.2f}", "", *_format(TRUTH.quantile(QUANTILES)), "", "", "")
    ]
    for run in runs:
        a, stats = run.draws("a"), run.tree["sample_stats"].to_dataset()
        rows.append(
            (
                run.method.name,
                f"{ks_distance(a, TRUTH):.4f}",
                *_format([a.mean(), a.std(), a.min(), *np.quantile(a, QUANTILES)]),
                f"{float(stats['acceptance_rate'].mean()):.2f}",
                f"{float(stats['diverging'].mean()):.1%}",
                f"{float(stats['n_grad'].mean()):.0f}",
            )
        )
    chains, draws = runs[0].draws("a").shape
    print_table(
        f"a ~ N(0, 15) of the paper's funnel, D = {runs[0].draws('x').shape[2]}, {chains} × {draws:,} draws",
        ("", "KS", "mean", "sd", "smallest", *(f"{q:.0%}" for q in QUANTILES), "accepted", "diverged", "grads"),
        rows,
        [
            "KS: Kolmogorov–Smirnov distance from the truth. "
            "grads: gradients and Hessian-vector products for each draw.",
        ],
    )


def _format(values: Any) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)
