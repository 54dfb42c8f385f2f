"""Figure 6: the effect of α on the effective sample size, on the logistic regressions."""

from collections.abc import Callable

import numpy as np

from mongepatch.paper.item import Claim, Column, Figure, Item, Numbers, Results, Section, Size, Table, Task
from mongepatch.paper.regressions import DATA, swept
from mongepatch.paper.style import CYCLE, MARKERS, canvas
from mongepatch.paper.verdicts import graded, held

ALPHAS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
STEP_SIZE, NUM_STEPS, DRAWS, WARMUP = 0.09, 7, 3000, 500
"""The paper's."""
CLOSE = 0.8
"""α = 0 does as well as the best α where it reaches this fraction: effective sizes are known to about 10%."""
ENOUGH = 300
"""Effective draws below which a comparison is not made."""
FLAT = 2e-4
"""Where α = 0 is drawn on a logarithmic axis."""


PANELS: dict[str, Callable[[Numbers], np.ndarray]] = {
    "paper's: least capped ESS / draws": lambda run: run["capped"][:, 0] / (run["draws"] / 4),
    "least ESS / draws": lambda run: run["least"] / run["draws"],
    "least ESS per 1000 gradients": lambda run: 1000 * run["least"] / run["n_grad"],
}


def tasks(size: Size) -> list[Task]:
    """The paper's size is small enough for both."""
    draws, warmup = (1000, 200) if size == "quick" else (DRAWS, WARMUP)
    settings = {
        "alphas": list(ALPHAS),
        "step_size": STEP_SIZE,
        "num_steps": NUM_STEPS,
        "draws": draws,
        "warmup": warmup,
        "seed": 0,
    }
    return [Task(data, swept, {"data": data, **settings}) for data in DATA]


def present(results: Results) -> Section:
    """Curves over α, the numbers, and where the best α is."""
    runs = list(results.values())
    claim = _claim(runs)
    return Section((_curves(runs, claim),), (_table(runs),), [claim])


def _curves(runs: list[Numbers], claim: Claim) -> Figure:
    figure, axes = canvas(1, 3, height=3.4)
    for axis, (title, values) in zip(axes[0], PANELS.items(), strict=True):
        for colour, marker, run in zip(CYCLE, MARKERS, runs, strict=False):
            x = np.where(run["alpha"] > 0, run["alpha"], FLAT)
            axis.plot(x, values(run), color=colour, marker=marker, markersize=4, label=DATA[run["data"]])
        axis.set(xscale="log", yscale="log", title=title, xlabel="α")
        axis.set_xticks([FLAT, 1e-3, 1e-2, 1e-1, 1.0], ["0", "0.001", "0.01", "0.1", "1"])
        axis.minorticks_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    caption = (
        f"Efficiency against α at ε = {STEP_SIZE}, L = {NUM_STEPS}. Left: the paper's measure, where a chain's size is "
        "capped at its draws. Middle: least of bulk, tails and squares, without a cap. Right: the same per gradient; "
        "a step costs one gradient at α = 0. Points at the left edge are α = 0. "
        f"{held([claim])}"
    )
    return Figure("figure-6", figure, caption, "Three panels of curves over α, one curve for each dataset.")


def _table(runs: list[Numbers]) -> Table:
    columns = [
        Column("data"),
        Column("α", "g"),
        Column("accepted", ".2f"),
        Column("least capped ESS", ".0f", "of one chain, at most its draws; the mean over four"),
        Column("least ESS", ".0f", "of bulk, tails and squares, all chains together"),
        Column("least ESS/s", ".0f"),
        Column("least ESS/1000 gradients", ".2f"),
    ]
    rows = [
        (
            DATA[run["data"]], alpha, accepted, capped, least, least / seconds, 1000 * least / n_grad,
        )
        for run in runs
        for alpha, accepted, capped, least, seconds, n_grad in zip(
            run["alpha"].tolist(), run["acceptance_rate"].tolist(), run["capped"][:, 0].tolist(), run["least"].tolist(),
            run["seconds"].tolist(), run["n_grad"].tolist(), strict=True,
        )
    ]  # fmt: skip
    return Table("figure-6", "Every α", columns, rows)


def _claim(runs: list[Numbers]) -> Claim:
    """Whether some α above 0 gives a larger effective size than α = 0."""
    compared = [run for run in runs if run["least"].max() >= ENOUGH]
    gains = {run["data"]: float(run["least"][1:].max() / run["least"][0]) for run in compared}
    best = {run["data"]: float(run["alpha"][1:][run["least"][1:].argmax()]) for run in compared}
    rest = ", ".join(DATA[run["data"]] for run in runs if run["data"] not in gains)
    said = "; ".join(f"{DATA[data]} {gain:.2f} times at α = {best[data]:g}" for data, gain in gains.items())
    return Claim(
        "The optimal α depends on the problem, and is above 0: the metric improves sampling.",
        graded(gain > 1 / CLOSE for gain in gains.values()),
        f"Least ESS at the best α above 0, against α = 0: {said or 'none'}. Above {1 / CLOSE:.2f} counts as better, "
        f"before cost. Fewer than {ENOUGH} effective draws at every α, and so not compared: {rest or 'none'}.",
    )


ITEM = Item(
    "figure-6",
    "Figure 6: the control parameter α",
    tasks,
    present,
    "LMC in the Monge metric on the logistic regressions, one step size and number of steps for all α; 0 makes it HMC.",
)
