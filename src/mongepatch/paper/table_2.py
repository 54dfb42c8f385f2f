"""Table 2: logistic regressions, compared with the paper's numbers and with HMC at the settings of LMC-Monge."""

import csv
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from mongepatch.paper.item import Claim, Column, Figure, Item, Numbers, Results, Section, Size, Table, Task
from mongepatch.paper.regressions import DATA, SAMPLERS, TUNED, measured
from mongepatch.paper.style import CYCLE, INK, PALE, canvas
from mongepatch.paper.verdicts import graded, held

WARMUP = 1000
"""Warm-up draws of samplers that tune themselves, at least."""
CAPPED = "as in the paper: of one chain, at most the number of its draws; the mean over chains"
CLOSE = 0.9
"""A control that reaches this fraction of LMC-Monge does as well."""
MONGE, CONTROL = SAMPLERS[:2]


class PrintedRow(NamedTuple):
    """A row of the paper's Table 2."""

    accepted: float
    ess: tuple[int, int, int]
    """Described as least, mean and median, and capped at 15,000."""
    seconds: int


def printed_table() -> dict[tuple[str, str], PrintedRow]:
    """The paper's Table 2, by dataset and sampler."""
    text = files("mongepatch.paper").joinpath("table_2_printed.csv").read_text(encoding="utf-8")
    return {
        (row["data"], row["sampler"]): PrintedRow(
            float(row["accepted"]),
            (int(row["least"]), int(row["mean"]), int(row["median"])),
            int(row["seconds"]),
        )
        for row in csv.DictReader(text.splitlines())
    }


def tasks(size: Size) -> list[Task]:
    """Four chains each; one of RMHMC, where parallel chains would all wait for the hardest equation."""
    draws, warmup = (1000, 200) if size == "quick" else (15_000, 5_000)
    found = []
    for data in DATA:
        for sampler in SAMPLERS:
            slow = sampler == "RMHMC-Fisher"
            settings = {
                "data": data,
                "sampler": sampler,
                "draws": 300 if slow and size == "quick" else draws,
                "warmup": max(warmup, WARMUP) if sampler in TUNED else warmup,
                "chains": 1 if slow else 4,
                "seed": 0,
            }
            found.append(Task(f"{data}, {sampler}", measured, settings))
    return sorted(found, key=lambda task: task.settings["sampler"] != "RMHMC-Fisher")  # the longest first


def present(results: Results) -> Section:
    """A dot plot of the samplers, the table, and the claims."""
    runs = sorted(results.values(), key=lambda run: (list(DATA).index(run["data"]), SAMPLERS.index(run["sampler"])))
    claims = _claims(runs)
    return Section((_dots(runs, claims),), (_table(runs),), claims)


def _dots(runs: list[Numbers], claims: Sequence[Claim]) -> Figure:
    found = [data for data in DATA if any(run["data"] == data for run in runs)]
    figure, axes = canvas(1, len(found), height=3.4, sharey=True)
    for axis, data in zip(axes[0], found, strict=True):
        some = {run["sampler"]: _per_gradient(run) for run in runs if run["data"] == data}
        names = [sampler for sampler in reversed(SAMPLERS) if sampler in some]
        axis.hlines(names, 0.01, [some[name] for name in names], color=PALE, linewidth=1)
        axis.scatter([some[name] for name in names], names, color=[_colour(name) for name in names], zorder=2)
        axis.set(xscale="log", xlim=(0.01, 1000), title=DATA[data])
    figure.supxlabel("least effective size per 1000 gradient-equivalents")
    caption = (
        "Least effective size per 1000 gradient-equivalents, over all coefficients, of bulk, tails and squares. "
        "Hessian products and Jacobians are counted. The second dot is HMC at the ε and L of LMC-Monge. "
        f"{held(claims)}"
    )
    return Figure(
        "table-2", figure, caption, "Effective sizes per 1000 gradients as dots, for each dataset and sampler."
    )


def _colour(sampler: str) -> str:
    return CYCLE[0] if sampler == MONGE else CYCLE[1] if sampler == CONTROL else INK


def _table(runs: list[Numbers]) -> Table:
    columns = [
        Column("data"),
        Column("sampler"),
        Column("accepted", ".2f"),
        Column("paper: accepted", ".2f"),
        *(Column(f"capped ESS, {of}", ".0f", CAPPED) for of in ("least", "mean", "median")),
        *(Column(f"paper: ESS, {of}", ".0f") for of in ("least", "mean", "median")),
        Column("bulk ESS, least", ".0f", "rank-normalised, of all chains together, per chain"),
        Column("tail ESS, least", ".0f", "of the 5% and 95% quantiles, per chain"),
        Column("least ESS", ".0f", "of bulk, tails and squares, per chain"),
        Column("seconds", ".1f", "of all draws that were kept, without compilation"),
        Column("paper: seconds", ".0f", "on the authors' laptop, in Julia"),
        Column("capped ESS/s", ".0f", "the least, of all chains"),
        Column("paper: ESS/s", ".0f", "the least"),
        Column("least ESS/s", ".1f"),
        Column("least ESS/1000 gradients", ".2f", "gradient-equivalents: Hessian and Jacobian products are counted"),
        Column("draws", "", "chains × draws"),
    ]
    note = (
        f"All but the last two run at the paper's step sizes and numbers of steps, from near the mode. {CONTROL} is "
        "the control, which the paper does not have. The numeric German set runs at the settings of South German."
    )
    printed = printed_table()
    rows = [_row(run, printed.get((run["data"], run["sampler"]))) for run in runs]
    return Table("table-2", "Logistic regressions", columns, rows, note)


def _row(run: Numbers, printed: PrintedRow | None) -> tuple[Any, ...]:
    chains, seconds = run["chains"], run["seconds"]
    return (
        DATA[run["data"]], run["sampler"], run["acceptance_rate"], printed and printed.accepted,
        *run["capped"].tolist(), *(printed.ess if printed else (None, None, None)),
        run["bulk"][0] / chains, run["tail"][0] / chains, run["least"] / chains,
        seconds, printed and printed.seconds,
        _capped_per_second(run), printed and printed.ess[0] / printed.seconds,
        run["least"] / seconds, _per_gradient(run), f"{chains} × {run['draws']:,}",
    )  # fmt: skip


def _claims(runs: list[Numbers]) -> list[Claim]:
    return [
        _claim("LMC-Monge has a clearly higher ESS than Euclidean HMC.", runs, "HMC-Euclidean", _least_capped),
        _claim("That is what the metric does.", runs, CONTROL, _least_capped),
        _claim("LMC-Monge is faster than LMC-Fisher for the same ESS.", runs, "LMC-Fisher", _capped_per_second),
    ]


def _claim(text: str, runs: list[Numbers], rival: str, figure: Callable[[Numbers], float]) -> Claim:
    """LMC-Monge is better than a rival that stays below a fraction of its number."""
    by = {(run["data"], run["sampler"]): figure(run) for run in runs}
    pairs = {data: (by[data, MONGE], by[data, rival]) for data in DATA if {(data, MONGE), (data, rival)} <= by.keys()}
    said = "; ".join(f"{DATA[data]} {ours:,.0f} against {theirs:,.0f}" for data, (ours, theirs) in pairs.items())
    verdict = graded(theirs < CLOSE * ours for ours, theirs in pairs.values())
    return Claim(text, verdict, f"{figure.__doc__} LMC-Monge against {rival}: {said}.")


def _least_capped(run: Numbers) -> float:
    """Least capped ESS of a chain."""
    return float(run["capped"][0])


def _capped_per_second(run: Numbers) -> float:
    """Least capped ESS per second, all chains together."""
    return float(run["chains"] * run["capped"][0] / run["seconds"])


def _per_gradient(run: Numbers) -> float:
    """Least ESS per 1000 gradient-equivalents."""
    return float(1000 * run["least"] / run["n_grad"])


ITEM = Item(
    "table-2",
    "Table 2: logistic regressions",
    tasks,
    present,
    "Posteriors of the coefficients with a prior N(0, 100), columns standardised. The paper asks whether the "
    "metric improves sampling; the control runs the same trajectories without the metric.",
)
