"""Figure 2: ellipses of the Monge metric and of the Fisher metric on a banana-shaped posterior."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mongepatch.paper.ellipses import angles, ellipse, geometry
from mongepatch.paper.item import Claim, Column, Figure, Item, Numbers, Results, Section, Size, Table, Task, Verdict
from mongepatch.paper.style import COLOURS, INK, canvas, contours
from mongepatch.paper.verdicts import graded
from mongepatch.targets import banana

ALPHAS = (0.1, 0.3, 1.0, 3.0, 10.0)
SHADES = {0.1: "#56B4E9", 0.3: "#0072B2", 3.0: "#003B5C"}
"""Of the ellipses that are drawn, by α."""
MODES = ((0.5, -(0.45**0.5)), (0.5, 0.45**0.5))
"""Of the posterior for observations whose mean is 1."""
POINTS = (
    *MODES, (-1.3, 1.45), (-0.6, 1.15), (0.15, 1.05), (0.74, 0.05), (1.24, -0.1), (-0.35, -1.05), (-0.9, -1.45),
    (0.65, -1.1),
)  # fmt: skip
RADIUS = 0.25
"""Of an ellipse of the Euclidean metric."""
ALIKE = 15.0
"""The angle between axes, in degrees, up to which metrics count as similar; by chance it would be 45."""
IDENTITY = 1e-6
"""How far from the identity a metric may be and still count as it."""


def tasks(size: Size) -> list[Task]:
    """One for each metric; both sizes are the same."""
    common = {"points": [list(point) for point in POINTS], "draws": 4000, "seed": 0}
    return [Task(label_of(alpha), geometry, {"alpha": alpha, **common}) for alpha in (None, *ALPHAS)]


def label_of(alpha: float | None) -> str:
    """A name for a metric."""
    return "Fisher" if alpha is None else f"Monge, α = {alpha:g}"


def similar(angle: float | None, fraction: float | None) -> Verdict:
    """From the median angle to Fisher's axes, and how often the largest α is more elongated than Fisher."""
    if angle is None or fraction is None:
        return "not checked"
    return graded((angle <= ALIKE, fraction > 0.5))


def euclidean(difference: float | None) -> Verdict:
    """From the largest entry of G − I at the modes."""
    return graded(() if difference is None else (difference <= IDENTITY,))


def present(results: Results) -> Section:
    """The ellipses, and how the shape of Monge's compares with that of Fisher's over the posterior."""
    fisher = results.get("Fisher")
    monge = {alpha: results[label_of(alpha)] for alpha in ALPHAS if label_of(alpha) in results}
    rows = [_row(label_of(alpha), numbers, fisher) for alpha, numbers in monge.items()]
    at_modes = max((row[1] for row in rows), default=None)
    angle, fraction = rows[-1][4:] if rows else (None, None)
    measured = "There are no two runs to compare."
    if angle is not None:
        measured = (
            f"Over draws of the posterior the median angle between Monge's short axis and Fisher's is {angle:.1f}°, "
            f"and with α = {max(monge):g} Monge's ellipse is the more elongated one at {fraction:.0%} of them."
        )
    caption = (
        "Ellipses {v: vᵀGv = const} over contours of the posterior. Crosses are its two modes, where the ellipses of "
        "the Monge metric are circles. Elsewhere they are thin along the gradient, the thinner the larger α. "
        f"{measured} The paper's claim that the Monge metric behaves there as Fisher's does, and is more elongated for "
        f"large α: {similar(angle, fraction)}. The paper does not give its data: ours are ten observations with mean 1."
    )
    alternative = (
        "Two maps of a banana-shaped density with ellipses at a dozen points: on the left nested ones of the Monge "
        "metric for three α, on the right those of the Fisher metric and of the Monge metric with α = 1."
    )
    claims = [
        Claim(
            "The Monge metric becomes the identity at the mode.",
            euclidean(at_modes),
            "No run." if at_modes is None else f"The largest entry of G − I at the modes is {at_modes:.1g}, for any α.",
        ),
        Claim(
            "Outside the mode the Monge metric behaves similarly to Fisher's; for large α it is more elongated.",
            similar(angle, fraction),
            f"{measured} Similar is an angle of at most {ALIKE:.0f}°; more elongated, at more than half of the draws.",
        ),
    ]
    rows += [_row("Fisher", fisher, None)] if fisher else []
    return Section([Figure("figure-2", _drawing(monge, fisher), caption, alternative)], [_table(rows)], claims)


def _drawing(monge: Mapping[float, Numbers], fisher: Numbers | None) -> Any:
    figure, ((left, right),) = canvas(1, 2, 4.6, sharex=True, sharey=True)
    for axis in (left, right):
        contours(axis, banana(), np.linspace(-2.4, 1.9, 300), np.linspace(-2.0, 2.0, 300))
        axis.plot(*np.transpose(MODES), "+", color=INK, markersize=7, label="mode")
        axis.set(aspect="equal", xlabel="x1")
    left.set(ylabel="x2", title="Monge metric")
    right.set(title="Fisher metric, and Monge metric with α = 1")
    for alpha, shade in SHADES.items():
        _ellipses(left, monge.get(alpha), shade, f"α = {alpha:g}")
    _ellipses(right, fisher, COLOURS["LMC-Fisher"], "Fisher")
    _ellipses(right, monge.get(1.0), COLOURS["LMC-Monge"], "Monge, α = 1")
    for axis in (left, right):
        axis.legend(loc="center left", fontsize=9, handlelength=1.2)
    return figure


def _ellipses(axis: Any, numbers: Numbers | None, colour: str, label: str) -> None:
    for point, matrix in zip(POINTS, numbers["matrices"], strict=True) if numbers else ():
        axis.plot(*(np.asarray(point)[:, None] + ellipse(matrix, RADIUS)), color=colour, linewidth=1.0, label=label)
        label = ""  # one entry of the legend for all


def _row(label: str, numbers: Numbers, fisher: Numbers | None) -> tuple[Any, ...]:
    at_modes = float(np.abs(numbers["matrices"][: len(MODES)] - np.eye(2)).max())
    shape = np.quantile(numbers["elongation"], (0.5, 0.9)).tolist()
    if fisher is None:
        return (label, at_modes, *shape, None, None)
    angle = float(np.median(angles(numbers["short_axis"], fisher["short_axis"])))
    return (label, at_modes, *shape, angle, float((numbers["elongation"] > fisher["elongation"]).mean()))


def _table(rows: list[tuple[Any, ...]]) -> Table:
    columns = (
        Column("metric"),
        Column("|G − I| at modes", ".1g", "largest entry"),
        Column("elongation", ".2f", "long axis over short axis, median over draws of the posterior"),
        Column("elongation, 90%", ".2f", "90% quantile"),
        Column("angle to Fisher", ".1f", "degrees between short axes, median over draws of the posterior"),
        Column("more elongated than Fisher", ".0%", "fraction of draws"),
    )
    note = "The short axis of the Monge metric is the gradient's direction, whatever α is."
    return Table("figure-2", "Shapes of the ellipses over the posterior", columns, rows, note)


ITEM = Item(
    "figure-2",
    "Figure 2: metrics as ellipses",
    tasks,
    present,
    "Ten observations of x1 + x2², whose posterior is a banana, in the Monge metric for several α and in Fisher's.",
)
