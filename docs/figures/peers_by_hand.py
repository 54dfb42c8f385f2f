"""Effective draws per second relative to the best form made by hand, from the table of the page on benchmarks."""

import re
from pathlib import Path

import numpy as np

from docs.figures.common import BLUE, INK, ORANGE, canvas

PAGE = Path(__file__).parent.parent / "benchmarks.md"
ROW = re.compile(r"^\| `([\w-]+)` \| 3/3 \|.*\| ([\d.]+) \|$", re.MULTILINE)


def draw():
    """One bar for each model, the largest ratio at the top."""
    section = PAGE.read_text(encoding="utf-8").split("per second: ours / by hand | ratio |")[1].split("\n\n")[0]
    rows = sorted(((float(ratio), name) for name, ratio in ROW.findall(section)))
    ratios, names = zip(*rows, strict=True)
    figure, axes = canvas(1, 1, 4.4)
    axis, places = axes[0, 0], np.arange(len(rows))
    axis.hlines(places, 1, ratios, color=[BLUE if ratio >= 1 else ORANGE for ratio in ratios], linewidth=4)
    axis.axvline(1, color=INK, linewidth=0.8)
    axis.set(xscale="log", yticks=places, yticklabels=names, xlabel="ours over the form made by hand")
    axis.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    axis.minorticks_off()
    return figure
