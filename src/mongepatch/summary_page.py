"""A page on a run: its table, traces and ranks of the worst variables, and the worst pair with divergences."""

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mongepatch._extras import require

if TYPE_CHECKING:
    from xarray import DataTree

_MOST_PLOTTED, _MOST_POINTS, _BINS = 6, 2000, 20
"""Variables with plots, draws of a chain that a plot shows, and bins of ranks."""

_LARGEST_R_HAT, _FEWEST_EFFECTIVE = 1.01, 400
"""Figures beyond these are marked."""

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>
body{{font:16px/1.5 system-ui,sans-serif;margin:0 auto;padding:1em;max-width:64rem;color:#222}}
h1,h2{{line-height:1.2;overflow-wrap:anywhere}}
.wide{{overflow-x:auto}}
table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}
td,th{{padding:.2em .8em;text-align:right;white-space:nowrap}}
tbody th{{text-align:left;position:sticky;left:0;background:#fff}}
thead th{{border-bottom:2px solid #888}}tbody tr:nth-child(even) *{{background:#f4f4f4}}
td.doubtful{{color:#b00020;font-weight:bold}}
.plots{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:.5em}}
figure{{margin:0}}img{{width:100%;max-width:36rem;height:auto;display:block}}
</style>
<h1>{title}</h1><p>{facts}</p>{messages}<h2>Variables</h2><p>{doubts}</p><div class="wide">{table}</div>
<h2>Traces and ranks of the variables with the largest R̂</h2>
<p>Ranks of each chain among all draws are uniform where chains agree. Each chain has a colour.</p>
<div class="plots">{traces}</div>
<h2>The two variables with the fewest effective draws</h2><p>{divergences} divergent trajectories, in red.</p>
{pair}</html>
"""


def write_page(path: Path, title: str, tree: "DataTree", table: Any, messages: Sequence[str] = ()) -> None:
    """Write the page of a run, one file with its pictures in it, and with what its reader must know."""
    columns = _scalars(tree)
    names = [name for name in table.index if name in columns]
    worst = sorted(names, key=lambda name: -np.nan_to_num(float(table["r_hat"][name]), nan=np.inf))
    effective = table[["ess_bulk", "ess_tail"]].min(axis=1)
    fewest = sorted(names, key=lambda name: np.nan_to_num(float(effective[name]), nan=0.0))
    diverging = np.asarray(tree["sample_stats"]["diverging"])
    sizes, attrs = tree["posterior"].sizes, tree["posterior"].attrs
    facts = f"{sizes['chain']} chains × {sizes['draw']:,} draws. {attrs.get('chosen', '')}"
    content = _PAGE.format(
        title=html.escape(title),
        facts=html.escape(facts),
        messages="".join(f"<p><strong>{html.escape(message)}</strong></p>" for message in messages),
        doubts=f"Bold and red: R̂ above {_LARGEST_R_HAT:g}, or fewer than {_FEWEST_EFFECTIVE} effective draws.",
        table=_table(table),
        traces="".join(_trace(name, columns[name]) + _ranks(name, columns[name]) for name in worst[:_MOST_PLOTTED]),
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


def _table(table: Any) -> str:
    """The summary, with figures that are not good enough marked."""
    head = "".join(f"<th>{html.escape(str(column))}</th>" for column in table.columns)
    rows = []
    for name, row in table.iterrows():
        cells = "".join(_cell(str(column), float(value)) for column, value in row.items())
        rows.append(f"<tr><th>{html.escape(str(name))}</th>{cells}</tr>")
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cell(column: str, value: float) -> str:
    is_good = value <= _LARGEST_R_HAT if column == "r_hat" else value >= _FEWEST_EFFECTIVE
    judged = column == "r_hat" or column.startswith("ess_")
    mark = ' class="doubtful"' if judged and not is_good else ""
    return f"<td{mark}>{f'{value:.0f}' if column.startswith('ess_') else f'{value:.4g}'}</td>"


def _trace(name: str, values: np.ndarray) -> str:
    figure, axes = _plot(2.2)
    step = -(-values.shape[1] // _MOST_POINTS)
    for chain in values:
        axes.plot(np.arange(0, len(chain), step), chain[::step], linewidth=0.6)
    axes.set(ylabel=name, xlabel="draw")
    return _picture(figure, f"trace of {name}")


def _ranks(name: str, values: np.ndarray) -> str:
    figure, axes = _plot(2.2)
    order = values.ravel().argsort().argsort().reshape(values.shape)
    for row in order:
        counts, edges = np.histogram(row, _BINS, (0, values.size))
        axes.stairs(counts, edges)
    axes.axhline(values.shape[1] / _BINS, color="0.5", linestyle="--", linewidth=1)
    axes.set(xlabel=f"rank of {name}", ylabel="draws", ylim=(0, None), xlim=(0, values.size))
    return _picture(figure, f"ranks of {name}")


def _pair(columns: dict[str, np.ndarray], diverging: np.ndarray) -> str:
    figure, axes = _plot(4.0)
    (first, x), (second, y) = (*columns.items(), *columns.items())[:2]
    step = -(-x.shape[1] // _MOST_POINTS)
    axes.plot(x[:, ::step].ravel(), y[:, ::step].ravel(), ".", markersize=2, alpha=0.5)
    axes.plot(x[diverging], y[diverging], ".", color="red", markersize=5)
    axes.set(xlabel=first, ylabel=second)
    return _picture(figure, f"{first} and {second}")


def _plot(height: float) -> Any:
    figure_type = require("matplotlib.figure", "plot", "A page with plots").Figure
    figure = figure_type(figsize=(5, height), layout="constrained")
    return figure, figure.subplots()


def _picture(figure: Any, words: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=140)
    content = base64.b64encode(buffer.getvalue()).decode()
    return f'<figure><img alt="{html.escape(words)}" src="data:image/png;base64,{content}"></figure>'
