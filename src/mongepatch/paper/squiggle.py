"""The squiggle of the supplement: a narrow ridge bent along a sine, by LMC in the Monge metric, by HMC and by NUTS."""

from collections.abc import Mapping

import numpy as np

from mongepatch.paper.chain_columns import COLUMNS, draw
from mongepatch.paper.chains import METHODS, by_method, tasks_of
from mongepatch.paper.item import Claim, Column, Figure, Item, Numbers, Results, Section, Size, Table, Task, Verdict
from mongepatch.paper.verdicts import graded
from mongepatch.targets import squiggle

BENDS = (0.5, 1, 2)
"""a of the three targets."""
WARMUP = 1000
"""The paper's start is up to 16 sd off the ridge: chains need hundreds of draws to return from far along it."""


def tasks(size: Size) -> list[Task]:
    """Four chains each, of 3,000 draws or as many as in the paper."""
    draws = 3_000 if size == "quick" else 60_000
    return [task for a in BENDS for task in tasks_of("squiggle", a, "x1", draws, WARMUP)]


def better(found: Mapping[str, Numbers]) -> bool | None:
    """Whether LMC beats NUTS on a target: chains closer to the truth, and more effective draws per gradient.

    Each chain is compared on its own, as in the paper: where chains hardly move, their errors may cancel by chance.
    None where the two disagree, or where a run is missing.
    """
    if not {"LMC-Monge", "NUTS"} <= set(found):
        return None
    ours, theirs = found["LMC-Monge"], found["NUTS"]
    closer, cheaper = ours["chain_ks"] < theirs["chain_ks"], ours["ess_per_1000_grads"] > theirs["ess_per_1000_grads"]
    return bool(closer) if closer == cheaper else None


def verdict(found: Mapping[float, Mapping[str, Numbers]]) -> Verdict:
    """By the targets on which LMC is better."""
    return graded(better(runs) is True for runs in found.values() if {"LMC-Monge", "NUTS"} <= set(runs))


def comparison(runs: Mapping[str, Numbers]) -> str:
    """LMC and NUTS on a target, in a sentence."""
    if not {"LMC-Monge", "NUTS"} <= set(runs):
        return "LMC and NUTS were not both run."
    distances, sizes = (
        " against ".join(f"{runs[method][name]:.3g}" for method in ("LMC-Monge", "NUTS"))
        for name in ("chain_ks", "ess_per_1000_grads")
    )
    outcome = {True: "LMC is better", False: "NUTS is better", None: "undecided"}[better(runs)]
    return f"LMC against NUTS, KS distance {distances}, effective draws per 1,000 gradients {sizes}: {outcome}."


def present(results: Results) -> Section:
    """A figure for each a, and one table."""
    found = {a: runs for a in BENDS if (runs := by_method(results, "squiggle", a))}
    figures = [_figure(a, runs) for a, runs in found.items()]
    details = [f"a = {a}: {comparison(runs)}" for a, runs in found.items()]
    claim = Claim(
        "On the squiggle LMC explores better than NUTS, and estimates the marginal of x1 better.",
        verdict(found),
        f"{' '.join(details)} KS distances here are of single chains, their mean. Better is to win on both counts.",
    )
    return Section(figures, [_table(found)], [claim])


def _figure(a: float, runs: Mapping[str, Numbers]) -> Figure:
    target = squiggle(a)
    x, y = np.linspace(-11, 11, 600), np.linspace(-1.35, 1.35, 400)
    figure = draw(runs, target, "x1", x, y, (0.5, 2.0, 4.5))
    stuck = [name for name, numbers in runs.items() if numbers["ess"] == 0]
    distances = ", ".join(f"{name} {numbers['ks']:.3f}" for name, numbers in runs.items())
    caption = (
        f"a = {a}. Draws over contours of the density, a trace of x1, and its marginal against the truth, N(0, 10). "
        f"KS distances of all draws from the truth: {distances}. Chain by chain, {comparison(runs)} The paper finds "
        "LMC better."
    )
    if stuck:
        caption += f" {' and '.join(stuck)} did not move in a whole chain: the step is too long for the ridge."
    names = ", ".join(runs)
    return Figure(
        f"squiggle-{a}", figure, caption,
        f"For each of {names}: a scatter of draws over the contours of a thin wave, a line of successive values of x1, "
        "and a histogram of x1 under the curve of a normal density.",
    )  # fmt: skip


def _table(found: Mapping[float, Mapping[str, Numbers]]) -> Table:
    names = ("ks", "chain_ks", "mean", "sd", "ess", "ess_per_1000_grads", "rhat", "acceptance", "diverging", "grads")
    columns = (Column("a", "g"), Column("method"), *(COLUMNS[name] for name in names))
    rows = [
        (a, method, *(numbers[name] for name in names))
        for a, runs in found.items()
        for method, numbers in runs.items()
    ]  # fmt: skip
    draws = next(iter(next(iter(found.values())).values()))["draws"]
    return Table(
        "squiggle", f"The marginal of x1, {draws:,} draws of four chains", columns, rows,
        "The truth is N(0, 10), with sd √10 = 3.16. LMC and HMC have the paper's ε, L and start, α = 1 and 0; their "
        f"first {WARMUP:,} draws are discarded, as are those in which NUTS is tuned. NUTS is BlackJAX's; the "
        "paper used another implementation.",
    )  # fmt: skip


ITEM = Item(
    "squiggle",
    "The squiggle of the supplement",
    tasks,
    present,
    f"(x1, x2 + sin(a x1)) is normal, with standard deviations 3.2 and 0.03, by {', '.join(METHODS)}. "
    "HMC runs with the ε and L of LMC, as its control.",
)
