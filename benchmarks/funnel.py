"""The paper's funnel with the paper's own settings, by LMC in the Monge metric and by plain HMC."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mongepatch.bench.distances import ks_distance
from mongepatch.bench.effective import smallest_ess
from mongepatch.bench.methods import HMC, Method, merged, paper
from mongepatch.bench.quiet import sample_quietly
from mongepatch.bench.tables import show
from mongepatch.targets import funnel, preset
from mongepatch.targets.truth import Normal
from mongepatch.trajectories import Static

if TYPE_CHECKING:
    from xarray import DataTree

QUANTILES = (0.01, 0.05, 0.5, 0.95, 0.99)
TRUTH = Normal(0.0, 15.0**0.5)
"""Of `a`, in every dimension."""
MERGED, PAPER = merged(alpha=1.0), paper(alpha=1.0)
FINE_HMC = HMC._replace(name="HMC, a third of the step", refinement=3)
"""The same integration time as the others in three times the steps, which is what an LMC step costs."""


class Run(NamedTuple):
    """A method and what it made."""

    method: Method
    tree: "DataTree"

    def draws(self, name: str) -> np.ndarray:
        """All draws of a parameter, of shape (chains, draws, …)."""
        return np.asarray(self.tree["posterior"][name])


def run_method(
    method: Method, dimension: int = 1, *, draws: int | None = None, seed: int = 0, progress: bool = False
) -> Run:
    """Four chains at the paper's step size, trajectory length and starting point."""
    settings = preset(f"funnel-{dimension}")
    tree = sample_quietly(
        funnel(dimension),
        jnp.full(dimension + 1, jnp.asarray(settings.start)),
        metric=method.metric,
        trajectory=Static(method.refinement * settings.num_steps),
        step_size=settings.step_size / method.refinement,
        scheme=method.scheme,
        draws=settings.draws if draws is None else draws,
        warmup=0,
        seed=seed,
        init_spread=0.0,
        progress=progress,
    )
    return Run(method, tree)


def report(runs: Sequence[Run]) -> None:
    """Print how well each run found the distribution of `a`, and at what cost."""
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
    show(
        f"a ~ N(0, 15) of the paper's funnel, D = {runs[0].draws('x').shape[2]}, {chains} × {draws:,} draws",
        (
            "",
            "KS",
            "mean",
            "sd",
            "least",
            *(f"{q:.0%}" for q in QUANTILES),
            "accepted",
            "diverged",
            "grads",
        ),
        rows,
        ["KS: largest error of the distribution function. grads: gradients and Hessian-vector products a draw."],
    )


def compare(dimension: int, draws: int | None, seeds: int) -> None:
    """Print the first seed in detail, and what other seeds say."""
    rows, first = [], []
    for method in (MERGED, PAPER, HMC, FINE_HMC):
        distances, sizes = [], []
        for seed in range(seeds):
            run = run_method(method, dimension, draws=draws, seed=seed)
            if seed == 0:
                first.append(run)
            distances.append(ks_distance(run.draws("a"), TRUTH))
            sizes.append(smallest_ess(run.tree))
        rows.append(
            (
                method.name,
                f"{np.median(distances):.4f}",
                f"{max(distances):.4f}",
                f"{np.median(sizes):,.0f}",
                f"{min(sizes):,.0f}",
            )
        )
    report(first)
    if seeds == 1:
        return
    show(
        f"The same over {seeds} seeds",
        ("", "median KS", "worst KS", "median ESS", "worst ESS"),
        rows,
        ["ESS: smallest effective sample size, which says how well a chain agrees with itself and not with the truth."],
    )


def _format(values: Any) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)
