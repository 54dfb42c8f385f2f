"""The paper's funnel at the paper's settings, by LMC in the Monge metric and by HMC, over several seeds."""

import numpy as np

from mongepatch.paper.console import print_table
from mongepatch.paper.distances import ks_distance
from mongepatch.paper.funnel_runs import FINE_HMC, MERGED, PAPER, TRUTH, print_summary, run_method
from mongepatch.paper.methods import HMC
from mongepatch.sampling.diagnostics import smallest_ess_of_run


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
