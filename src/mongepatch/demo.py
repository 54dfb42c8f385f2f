"""The paper's Figure 4: a funnel with one x, by LMC in the Monge metric and by HMC."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._extras import require
from mongepatch.errors import SettingError
from mongepatch.paper.funnel_runs import FINE_HMC, MERGED, TRUTH, FunnelRun, print_summary, run_method
from mongepatch.paper.methods import HMC
from mongepatch.targets import funnel

# Two colours that the colour-blind tell apart, and ink for the truth.
COLOURS = {MERGED.name: "#0072B2", HMC.name: "#D55E00"}
INK = "#333333"


def run_demo(out: Path = Path("demo.png"), draws: int = 60_000) -> None:
    """Sample, print summaries with the truth, and write the picture."""
    require("matplotlib", "plot", "The picture")
    if not out.absolute().parent.is_dir():
        raise SettingError(f"The picture cannot be written to {out}: there is no such folder. Create it first.")
    runs = [run_method(method, draws=draws, progress=True) for method in (MERGED, HMC, FINE_HMC)]
    print_summary(runs)
    draw(runs[:2], out)
    depths = (f"{run.method.name} reached a = {run.draws('a').min():.1f}" for run in runs)
    print(f"{', '.join(depths)}; {TRUTH.cdf(-6.0):.0%} of the probability is below −6. The picture is in {out}.")


def draw(runs: list[FunnelRun], out: Path) -> None:
    """Draws over contours, traces of `a`, and its marginal against the truth."""
    pyplot = require("matplotlib.pyplot", "plot", "The picture")
    figure, axes = pyplot.subplots(
        2, 3, figsize=(11, 6), height_ratios=(3, 2), gridspec_kw={"wspace": 0.25, "hspace": 0.3}
    )
    _contours(axes[0, 0])
    axes[0, 0].set_title("density")
    for axis, run in zip(axes[0, 1:], runs, strict=True):
        _contours(axis)
        x, a = run.draws("x").ravel(), run.draws("a").ravel()
        kept = np.random.default_rng(0).choice(a.size, min(4000, a.size), replace=False)
        axis.plot(x[kept], a[kept], ".", markersize=2, alpha=0.4, color=COLOURS[run.method.name])
        axis.set_title(f"{run.method.name}: smallest a = {a.min():.1f}")
    for axis, run in zip(axes[1, 1:], runs, strict=True):
        axis.plot(run.draws("a")[0, -2000:], linewidth=0.5, color=COLOURS[run.method.name])
        axis.set(ylim=(-16, 16), xlabel="last 2000 draws of a chain", ylabel="a")
    _marginals(axes[1, 0], runs)
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=130, bbox_inches="tight")
    pyplot.close(figure)


def _contours(axis: Any) -> None:
    x, a = np.meshgrid(np.linspace(-8, 8, 300), np.linspace(-16, 12, 300))
    log_density = jax.vmap(jax.vmap(funnel(1)))(jnp.stack([x, a], axis=-1))
    axis.contour(
        x,
        a,
        log_density,
        levels=np.array([-12.0, -8, -5, -3, -1.5, 0]),
        colors="#BBBBBB",
        linewidths=0.8,
        linestyles="solid",
    )
    axis.set(xlim=(-8, 8), ylim=(-16, 12), xlabel="x", ylabel="a")


def _marginals(axis: Any, runs: list[FunnelRun]) -> None:
    bins = np.linspace(-14, 14, 57)
    for run in runs:
        axis.hist(
            run.draws("a").ravel(), bins, density=True, histtype="step", linewidth=1.4, color=COLOURS[run.method.name]
        )
    density = np.diff(TRUTH.cdf(bins)) / np.diff(bins)
    axis.plot(0.5 * (bins[1:] + bins[:-1]), density, color=INK, linewidth=1.2)
    axis.set(xlabel="a", ylabel="density of a; truth in black")
