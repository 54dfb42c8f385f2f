"""Figure 5 and its supplement: how wrong the marginal of `a` comes out, against the dimension of the funnel."""

from collections.abc import Mapping, Sequence

import numpy as np

from mongepatch.bench.funnel import TRUTH
from mongepatch.paper.figure_5_marginals import marginals
from mongepatch.paper.funnels import DEEP, MEANINGS, SAMPLERS, judged
from mongepatch.paper.item import Claim, Column, Figure, Item, Numbers, Results, Section, Size, Table, Task
from mongepatch.paper.style import COLOURS, MARKERS, canvas
from mongepatch.paper.verdicts import graded, held

DIMENSIONS = (1, 3, 5, 10, 30, 40, 50)
DRAWS = {"quick": 4_000, "full": 60_000}
GOOD = 0.05
"""A KL divergence at which a histogram looks like the truth."""


def tasks(size: Size) -> list[Task]:
    """Long ones first, so that no process is left alone with one at the end."""
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
    return Section((_curves(runs, claims), marginals(runs)), (_table(runs),), claims)


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
        f"with α = 0 and all else the same: the difference of the two is what the metric does. {held(claims)}"
    )
    return Figure("figure-5", figure, caption, "Two panels: KL divergence and KS distance of each sampler against D.")


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
        Column("gradients", ".0f", "gradient-equivalents a draw"),
        Column(
            "seconds",
            ".1f",
            "of all draws, compilation and warm-up left out, but for WALNUTS, which does not tell them apart",
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
    "a ~ N(0, 15) and x₁ … x_D ~ N(0, softplus(a)), from 5·1, with the paper's step sizes and numbers of steps. Added "
    "are a control, samplers that tune themselves, and four chains in the place of one.",
)
