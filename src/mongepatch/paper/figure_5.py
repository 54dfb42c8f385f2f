"""Figure 5 and its supplement: error of the marginal of `a` against the dimension of the funnel."""

from collections.abc import Mapping, Sequence

import numpy as np

from mongepatch.paper.funnel_runs import TRUTH
from mongepatch.paper.funnels import DEEP, EDGES, MEANINGS, SAMPLERS, judged
from mongepatch.paper.item import Claim, Column, Figure, Item, Numbers, Results, Section, Size, Table, Task
from mongepatch.paper.style import COLOURS, INK, MARKERS, canvas
from mongepatch.paper.verdicts import graded, held

DIMENSIONS = (1, 3, 5, 10, 30, 40, 50)
DRAWS = {"quick": 4_000, "full": 60_000}
GOOD = 0.05
"""The KL divergence below which a histogram looks like the truth."""


def tasks(size: Size) -> list[Task]:
    """The longest first, so that no process runs alone at the end."""
    return [
        Task(
            f"{sampler}, D = {dimension}",
            judged,
            {"sampler": sampler, "dimension": dimension, "draws": DRAWS[size], "seed": 0},
        )
        for dimension in reversed(DIMENSIONS)
        for sampler in SAMPLERS
    ]


def present(results: Results) -> Section:
    """Divergences against D, all marginals, and the numbers."""
    runs = sorted(results.values(), key=lambda run: (run["dimension"], list(SAMPLERS).index(run["sampler"])))
    claims = _claims(runs)
    return Section((_curves(runs, claims), _marginals(runs)), (_table(runs),), claims)


def _curves(runs: list[Numbers], claims: Sequence[Claim]) -> Figure:
    figure, axes = canvas(1, 2, height=3.8)
    for axis, name, of in ((axes[0, 0], "KL divergence, median of four chains", _kl), (axes[0, 1], "KS distance", _ks)):
        for marker, sampler in zip(MARKERS, SAMPLERS, strict=True):
            line = [(run["dimension"], of(run)) for run in runs if run["sampler"] == sampler]
            if line:
                axis.plot(*zip(*line, strict=True), marker=marker, label=sampler, color=COLOURS[sampler], markersize=5)
        axis.set(xscale="log", yscale="log", xlabel="D, the number of x's", title=name)
        axis.set_xticks(DIMENSIONS, [str(d) for d in DIMENSIONS])
        axis.minorticks_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    caption = (
        "How far the marginal of a is from N(0, 15): lower is better, both axes are logarithmic. HMC here is LMC-Monge "
        f"with α = 0 and all else the same: their difference is the effect of the metric. {held(claims)}"
    )
    return Figure("figure-5", figure, caption, "Two panels: KL divergence and KS distance of each sampler against D.")


def _marginals(runs: list[Numbers]) -> Figure:
    """The supplement's figure: histograms of `a` with the true density, a row for each D."""
    dimensions = sorted({run["dimension"] for run in runs})
    figure, axes = canvas(len(dimensions), 3, height=1.7, sharex=True, sharey=True)
    centres = 0.5 * (EDGES[1:] + EDGES[:-1])
    truth = np.diff(TRUTH.cdf(EDGES)) / np.diff(EDGES)
    pairs = (("LMC-Monge", "HMC"), ("NUTS", "WALNUTS"), ("automatic", "automatic, residuals"))
    for row, dimension in zip(axes, dimensions, strict=True):
        row[0].set_ylabel(f"D = {dimension}")
        for axis, pair in zip(row, pairs, strict=True):
            axis.plot(centres, truth, color=INK, linewidth=0.9)
            for run in runs:
                if run["dimension"] == dimension and run["sampler"] in pair:
                    axis.stairs(run["histogram"], EDGES, color=COLOURS[run["sampler"]], label=run["sampler"])
    for axis, pair in zip(axes[0], pairs, strict=True):
        axis.set_title(" and ".join(pair))
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8, loc="upper left")
    for axis in axes[-1]:
        axis.set_xlabel("a")
    caption = (
        "Marginals of a for every D; the truth is the smooth line. Where mass is missing on the left, the sampler "
        "never entered the neck. The rest is then too high, and no other sign shows it."
    )
    return Figure("figure-5-marginals", figure, caption, "Histograms of a for every D and sampler, over the truth.")


def _table(runs: list[Numbers]) -> Table:
    columns = [
        Column("D", "d"),
        Column("sampler"),
        Column("KL", ".4f", "Kullback–Leibler divergence, median of four chains"),
        Column("worst KL", ".4f", "of the four chains"),
        Column("KS", ".4f", "Kolmogorov–Smirnov distance of all chains together"),
        Column("least a", ".1f"),
        *(Column(f"{q:.1%}", ".2f", f"quantile; the truth is {TRUTH.quantile(q):.2f}") for q in DEEP),
        Column("accepted", ".2f"),
        Column("diverged", ".1%"),
        Column("gradients", ".0f", "gradient-equivalents per draw"),
        Column(
            "seconds",
            ".1f",
            "of all draws, without compilation and warm-up; WALNUTS reports only the sum, warm-up included",
        ),
    ]
    rows = [
        (
            run["dimension"], run["sampler"], _kl(run), float(run["kl"].max()), run["ks"], run["least"],
            *run["quantiles"].tolist(), run["acceptance_rate"], run["divergences"], run["n_grad"], run["seconds"],
        )
        for run in runs
    ]  # fmt: skip
    note = "; ".join(f"{name}: {meaning}" for name, meaning in MEANINGS.items())
    return Table("figure-5", "Every D and sampler", columns, rows, f"{note}.")


def _kl(run: Numbers) -> float:
    return float(np.median(run["kl"]))


def _ks(run: Numbers) -> float:
    return float(run["ks"])


def _series(runs: list[Numbers], sampler: str) -> dict[int, float]:
    return {run["dimension"]: _kl(run) for run in runs if run["sampler"] == sampler}


def _claims(runs: list[Numbers]) -> list[Claim]:
    monge, flat, nuts = (_series(runs, sampler) for sampler in ("LMC-Monge", "HMC", "NUTS"))
    good = [dimension for dimension, value in monge.items() if value < GOOD]
    better = [dimension for dimension in monge if monge[dimension] < flat.get(dimension, 0.0)]
    return [
        Claim(
            "LMC-Monge retains good accuracy for all D.",
            graded(value < GOOD for value in monge.values()),
            f"Its KL is {_said(monge)}. Below {GOOD} is good; it is so at D = {_list(good)}.",
        ),
        Claim(
            "It is the metric that helps in areas of strong curvature.",
            graded(value < flat[dimension] for dimension, value in monge.items() if dimension in flat),
            f"With α = 0 and the same ε and L the KL is {_said(flat)}. The metric is better at D = {_list(better)}.",
        ),
        Claim(
            "NUTS gets worse with D.",
            graded([nuts[max(nuts)] > 2 * nuts[min(nuts)]] if len(nuts) > 1 else []),
            f"Its KL is {_said(nuts)}. Twice as large at the largest D as at the smallest is worse.",
        ),
    ]


def _said(series: Mapping[int, float]) -> str:
    return ", ".join(f"{value:.3g} at D = {dimension}" for dimension, value in series.items()) or "not measured"


def _list(dimensions: Sequence[int]) -> str:
    return ", ".join(str(dimension) for dimension in dimensions) or "none"


ITEM = Item(
    "figure-5",
    "Figure 5 and its supplement: funnels of growing dimension",
    tasks,
    present,
    "a ~ N(0, 15) and x₁ … x_D ~ N(0, softplus(a)), from 5·1, with the paper's step sizes and numbers of steps. A "
    "control, samplers that tune themselves, and three more chains are added.",
)
