"""Figure 3: trajectories on a ring, from one position and velocity, in Monge metrics of several α."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mongepatch.paper.item import Claim, Column, Figure, Item, Results, Section, Size, Table, Task, Verdict
from mongepatch.paper.paths import follow
from mongepatch.paper.presets import preset
from mongepatch.paper.style import CYCLE, PALE, canvas
from mongepatch.paper.verdicts import graded

RADIUS, VARIANCE = 12.0, 0.12
ALPHAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
STARTS = {"on the ring": ((12.0, 0.0), (1.0, 1.0)), "off the ring": ((12.5, 0.0), (0.0, 1.0))}
"""Positions and velocities; the paper does not give its own. The first is drawn."""
FINE = 10
"""Number of steps that replace a step, to show the dynamics without the error of the integrator."""
SMALL_ERROR = 0.1
"""The error of the energy up to which a path counts as well integrated; its end is then accepted 9 times in 10."""
ORBIT = 0.5
"""The swing of the radius, relative to that for α = 0, up to which a path counts as an orbit."""


def tasks(size: Size) -> list[Task]:
    """One for each path, with the paper's ε and with a finer one; both sizes are the same."""
    paper = preset("ring")
    common = {"radius": RADIUS, "variance": VARIANCE, "step_size": paper.step_size, "num_steps": paper.num_steps}
    return [
        Task(label_of(start, alpha, cut), follow, {**common, "alpha": alpha, "cut": cut, "start": [list(x), list(v)]})
        for start, (x, v) in STARTS.items()
        for alpha in ALPHAS
        for cut in (1, FINE)
    ]


def label_of(start: str, alpha: float, cut: int) -> str:
    """A name for a path."""
    return f"{start}, α = {alpha:g}, ε" + (f"/{cut}" if cut > 1 else "")


def orbits(swings: Mapping[str, tuple[float, float]]) -> Verdict:
    """From the swings at α = 0 and at the largest α, by start: is the second one much smaller?"""
    return graded(last <= ORBIT * first for first, last in swings.values())


def accurate(errors: Mapping[float, float]) -> Verdict:
    """From the largest error of the energy, by α."""
    return graded(error <= SMALL_ERROR for error in errors.values())


def present(results: Results) -> Section:
    """The paths as they are and unrolled, with the paper's steps and with finer ones."""
    fine = {start: _by_alpha(results, start, FINE, "swing") for start in STARTS}
    swings = {start: (of[0.0], of[max(of)]) for start, of in fine.items() if 0.0 in of and max(of) > 0}
    coarse = [_by_alpha(results, start, 1, "error") for start in STARTS]
    errors = {a: max(of.get(a, 0.0) for of in coarse) for a in ALPHAS if any(a in of for of in coarse)}
    listed = ", ".join(f"{error:.2g} for α = {alpha:g}" for alpha, error in errors.items())
    falls = "; ".join(
        f"{start}, {', '.join(f'{swing:.2f} for α = {alpha:g}' for alpha, swing in of.items())}"
        for start, of in fine.items()
    )
    seen = ", ".join(
        f"{first:.2f} for α = 0 and {last:.2f} for the largest α ({start})" for start, (first, last) in swings.items()
    )
    caption = (
        "Paths of 200 steps of the paper's ε = 0.03 on a ring (grey: two standard deviations of its radius), and below "
        "them the same unrolled, radius against angle. Bottom right is the same time in steps a tenth as long, which "
        f"shows the dynamics without the integrator's error. There the radius swings by {seen or '?'}. The "
        f"paper's claim of orbits for large α: {orbits(swings)}. Its claim that ε = 0.03 leaves little "
        f"error: {accurate(errors)}."
    )
    alternative = (
        "Four panels: a ring with paths of several α along a part of it, that part enlarged, and the radius of the "
        "paths against the angle for two lengths of step."
    )
    claims = [
        Claim(
            "For α = 0 paths fluctuate around the typical set; for large α they resemble orbits.",
            orbits(swings),
            f"Swing of the radius with ε/{FINE}: {falls}. An orbit is to swing, at the largest α, at most {ORBIT:g} "
            "times as far as at α = 0.",
        ),
        Claim(
            "ε = 0.03 guarantees smooth paths with minimal integration error.",
            accurate(errors),
            f"Largest error of the energy: {listed or 'no run'}. Small is up to {SMALL_ERROR}. The paper's text does "
            "not say which α it drew.",
        ),
    ]
    return Section([Figure("figure-3", _drawing(results), caption, alternative)], [_table(results)], claims)


def _by_alpha(results: Results, start: str, cut: int, name: str) -> dict[float, float]:
    labels = {alpha: label_of(start, alpha, cut) for alpha in ALPHAS}
    return {alpha: results[label][name] for alpha, label in labels.items() if label in results}


def _drawing(results: Results) -> Any:
    figure, axes = canvas(2, 2, 3.6)
    half, turn, start = 2.0 * VARIANCE**0.5, np.linspace(0.0, 2.0 * np.pi, 1000), next(iter(STARTS))
    rim = np.concatenate([(RADIUS + half) * np.exp(1j * turn), (RADIUS - half) * np.exp(-1j * turn)])
    for axis in axes[0]:
        axis.fill(rim.real, rim.imag, color=PALE, alpha=0.4, linewidth=0)
        axis.set(aspect="equal", xlabel="x1", ylabel="x2")
    for alpha, colour in zip(ALPHAS, CYCLE, strict=True):
        for cut, unrolled in zip((1, FINE), axes[1], strict=True):
            if numbers := results.get(label_of(start, alpha, cut)):
                x, y = numbers["path"].T
                unrolled.plot(np.arctan2(y, x), np.hypot(x, y), color=colour, label=f"α = {alpha:g}", linewidth=1.1)
                for axis in axes[0] if cut == 1 else ():
                    axis.plot(x, y, color=colour, linewidth=1.1)
    axes[0, 0].set(title="the ring, ε = 0.03")
    axes[0, 1].set(title="the part that the paths cover", xlim=(9.5, 13.2), ylim=(-0.3, 6.8))
    for axis, title in zip(axes[1], ("unrolled, ε = 0.03", f"unrolled, ε = 0.03/{FINE}"), strict=True):
        axis.axhspan(RADIUS - half, RADIUS + half, color=PALE, alpha=0.4, linewidth=0)
        axis.set(title=title, xlabel="angle, radians", ylabel="radius", xlim=(0, 0.52), ylim=(RADIUS - 1, RADIUS + 1))
    handles, labels = next((pair for axis in axes[1] if (pair := axis.get_legend_handles_labels())[0]), ([], []))
    figure.legend(handles, labels, loc="outside lower center", ncols=len(ALPHAS), fontsize=10, handlelength=1.2)
    return figure


def _table(results: Results) -> Table:
    rows = [
        (start, alpha, preset("ring").step_size / cut, *(results[label][name] for name in ("swing", "angle", "error")))
        for start in STARTS
        for cut in (1, FINE)
        for alpha in ALPHAS
        if (label := label_of(start, alpha, cut)) in results
    ]
    columns = (
        Column("start"),
        Column("α", "g"),
        Column("ε", "g"),
        Column("swing", ".3f", "largest radius minus the smallest"),
        Column("angle", ".3f", "radians around the ring"),
        Column("error", ".2g", "largest change of E − log-volume, which decides acceptance"),
    )
    return Table("figure-3", "Paths on the ring", columns, rows)


ITEM = Item(
    "figure-3",
    "Figure 3: paths on a ring",
    tasks,
    present,
    "The paper's scheme from one position and one velocity, on a ring of radius 12 and variance 0.12.",
)
