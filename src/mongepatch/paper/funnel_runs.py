"""The paper's funnel at the paper's settings: one run of a method, and a summary of several."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mongepatch.paper.console import print_table
from mongepatch.paper.distances import ks_distance
from mongepatch.paper.methods import HMC, Method, merged, paper
from mongepatch.paper.presets import preset
from mongepatch.paper.quiet import sample_quietly
from mongepatch.targets import funnel
from mongepatch.targets.truth import Normal
from mongepatch.trajectories import Static

if TYPE_CHECKING:
    from xarray import DataTree

QUANTILES = (0.01, 0.05, 0.5, 0.95, 0.99)
TRUTH = Normal(0.0, 15.0**0.5)
"""The marginal of `a`, in every dimension."""
MERGED, PAPER = merged(alpha=1.0), paper(alpha=1.0)
FINE_HMC = HMC._replace(name="HMC, a third of the step", refinement=3)
"""The same integration time as the others in three times the steps, which is what an LMC step costs."""


class FunnelRun(NamedTuple):
    """A method and its result on the funnel."""

    method: Method
    tree: "DataTree"

    def draws(self, name: str) -> np.ndarray:
        """All draws of a parameter, of shape (chains, draws, …)."""
        return np.asarray(self.tree["posterior"][name])


def run_method(
    method: Method, dimension: int = 1, *, draws: int | None = None, seed: int = 0, progress: bool = False
) -> FunnelRun:
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
    return FunnelRun(method, tree)


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
