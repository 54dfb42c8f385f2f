"""A page on a run: its table, traces and ranks of the worst variables, and the worst pair with divergences."""

import base64
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch._extras import require

if TYPE_CHECKING:
    from xarray import DataTree

_MOST_PLOTTED, _MOST_POINTS, _BINS = 6, 2000, 20
"""Variables with plots, draws of a chain that a plot shows, and bins of ranks."""

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body{{font-family:sans-serif;margin:2em;max-width:70em}}td,th{{padding:.2em .7em;text-align:right}}
img{{max-width:100%}}</style>
<h1>{title}</h1><p>{facts}</p><h2>Variables</h2>{table}
<h2>Traces and ranks of the variables with the largest R̂</h2>
<p>Ranks of each chain among all draws are uniform where chains agree.</p><img alt="traces and ranks" src="{traces}">
<h2>The two with the fewest effective draws</h2><p>{divergences} divergent trajectories, in red.</p>
<img alt="pair" src="{pair}"></html>
"""


def write_page(path: Path, title: str, tree: "DataTree", table: Any) -> None:
    """Write the page of a run, one file with its pictures in it."""
    columns = _scalars(tree)
    names = [name for name in table.index if name in columns]
    worst = sorted(names, key=lambda name: -np.nan_to_num(float(table["r_hat"][name]), nan=np.inf))
    fewest = sorted(names, key=lambda name: np.nan_to_num(float(table["ess_bulk"][name]), nan=0.0))
    diverging = np.asarray(tree["sample_stats"]["diverging"])
    sizes, attrs = tree["posterior"].sizes, tree["posterior"].attrs
    facts = f"{sizes['chain']} chains × {sizes['draw']:,} draws. {attrs.get('chosen', '')}"
    content = _PAGE.format(
        title=html.escape(title),
        facts=html.escape(facts),
        table=table.to_html(float_format=lambda value: f"{value:.4g}", border=0),
        traces=_traces({name: columns[name] for name in worst[:_MOST_PLOTTED]}),
        pair=_pair({name: columns[name] for name in fewest[:2]}, diverging),
        divergences=f"{int(diverging.sum()):,}",
    )
    path.write_text(content, encoding="utf-8")


def _scalars(tree: "DataTree") -> dict[str, np.ndarray]:
    """Draws [chain, draw] of every scalar, by the name that a summary gives it."""
    found: dict[str, np.ndarray] = {}
    for name, values in tree["posterior"].to_dataset().items():
        array = values.transpose("chain", "draw", ...)
        if array.ndim == 2:
            found[str(name)] = array.to_numpy()
            continue
        stacked = array.stack(entry=array.dims[2:])
        for place in range(stacked.sizes["entry"]):
            entry = stacked.isel(entry=place)
            labels = ", ".join(str(entry.coords[dim].item()) for dim in array.dims[2:])
            found[f"{name}[{labels}]"] = entry.to_numpy()
    return found


def _traces(columns: dict[str, np.ndarray]) -> str:
    figure, axes = _subplots(len(columns), 2)
    for (name, values), (trace, ranks) in zip(columns.items(), axes, strict=True):
        step = -(-values.shape[1] // _MOST_POINTS)
        order = values.ravel().argsort().argsort().reshape(values.shape)
        for chain, row in zip(values, order, strict=True):
            trace.plot(np.arange(0, len(chain), step), chain[::step], linewidth=0.5)
            ranks.hist(row, bins=_BINS, range=(0, values.size), histtype="step")
        trace.set_ylabel(name)
    return _picture(figure)


def _pair(columns: dict[str, np.ndarray], diverging: np.ndarray) -> str:
    figure, axes = _subplots(1, 1)
    (first, x), (second, y) = (*columns.items(), *columns.items())[:2]
    step = -(-x.shape[1] // _MOST_POINTS)
    axes[0][0].plot(x[:, ::step].ravel(), y[:, ::step].ravel(), ".", markersize=2, alpha=0.5)
    axes[0][0].plot(x[diverging], y[diverging], ".", color="red", markersize=4)
    axes[0][0].set(xlabel=first, ylabel=second)
    return _picture(figure)


def _subplots(rows: int, columns: int) -> Any:
    figure_type = require("matplotlib.figure", "plot", "A page with plots").Figure
    figure = figure_type(figsize=(5 * columns, 2 * rows if columns > 1 else 4), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _picture(figure: Any) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
