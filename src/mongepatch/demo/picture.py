"""The picture of the demo: draws of each sampler where the model is narrow, and how much of the tail they find."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch._extras import require

if TYPE_CHECKING:
    from mongepatch.demo.models import DemoModel
    from mongepatch.demo.samplers import Run

# Two colours that the colour-blind tell apart, and ink for the truth.
OURS, THEIRS, INK, PALE = "#0072B2", "#D55E00", "#333333", "#EDEDED"
_MOST_POINTS = 4000
_LEAST = 1e-4
"""The smallest probability that is drawn."""


def draw(pairs: Sequence[tuple["DemoModel", Sequence["Run"]]], out: Path) -> None:
    """A row for each model: our draws, those of NUTS, and the distribution function of both beside the truth."""
    pyplot = require("matplotlib.pyplot", "plot", "The picture")
    figure, axes = pyplot.subplots(len(pairs), 3, figsize=(12, 4.1 * len(pairs)), layout="constrained", squeeze=False)
    for row, (model, runs) in zip(axes, pairs, strict=True):
        low, high = (float(end) for end in model.truth.quantile([_LEAST, 0.9999]))
        width = 1.05 * max(np.quantile(np.abs(run.effect), 0.9995) for run in runs)
        for axis, run, colour in zip(row, runs, (OURS, THEIRS), strict=False):
            _draws(axis, model, run, colour)
            axis.set(xlim=(-width, width), ylim=(low, high))
        _tails(row[2], model, runs, (low, high))
        for axis in row:
            axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=130)
    pyplot.close(figure)


def _draws(axis: Any, model: "DemoModel", run: "Run", colour: str) -> None:
    scale, effect = run.scale.ravel(), run.effect.ravel()
    kept = np.random.default_rng(0).choice(scale.size, min(_MOST_POINTS, scale.size), replace=False)
    least = float(scale.min())
    axis.axhspan(-1e3, least, color=PALE, linewidth=0)
    axis.plot(effect[kept], scale[kept], ".", markersize=2.5, alpha=0.5, markeredgewidth=0, color=colour)
    missed = f"no draw below {least:.1f}, which has\n{float(model.truth.cdf(least)):.2%} of the probability"
    axis.text(0.03, 0.03, missed.replace("-", "−"), transform=axis.transAxes, fontsize=9, color=INK)
    axis.set(xlabel=model.effect, ylabel=model.scale)
    axis.set_title(f"{run.sampler}: {model.title}", loc="left", fontsize=11, color=colour)


def _tails(axis: Any, model: "DemoModel", runs: Sequence["Run"], limits: tuple[float, float]) -> None:
    """P(scale < t) on a logarithmic axis, on which a missing tail is seen."""
    grid = np.linspace(*limits, 400)
    axis.plot(grid, model.truth.cdf(grid), color=INK, linewidth=1.6, label="exact")
    for run, colour in zip(runs, (OURS, THEIRS), strict=True):
        values = np.sort(run.scale.ravel())
        axis.step(values, np.arange(1, values.size + 1) / values.size, color=colour, linewidth=1.6, label=run.sampler)
    axis.set(yscale="log", ylim=(_LEAST, 1.3), xlim=limits, xlabel=model.scale, ylabel="probability below")
    axis.set_title("How much of the narrow region is found", loc="left", fontsize=11)
    axis.legend(frameon=False, loc="lower right")
