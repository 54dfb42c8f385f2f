"""Figure 4: draws of the funnel with one x, by LMC in the Monge metric, by HMC and by NUTS."""

from collections.abc import Mapping

import numpy as np

from mongepatch.paper.chain_columns import COLUMNS, draw
from mongepatch.paper.chains import METHODS, QUANTILES, by_method, tasks_of
from mongepatch.paper.funnel_runs import TRUTH
from mongepatch.paper.item import Claim, Column, Figure, Item, Numbers, Results, Section, Size, Table, Task, Verdict
from mongepatch.targets import funnel

CLOSE = 0.05
"""The largest KS distance at which a marginal counts as right."""


def tasks(size: Size) -> list[Task]:
    """Four chains, a tenth as long as the paper's or as long."""
    return tasks_of("funnel", 1, "a", draws=6_000 if size == "quick" else 60_000)


def explores(numbers: Numbers) -> bool:
    """Whether draws have the right marginal, and some lie below the true 0.1% quantile."""
    deep = float(TRUTH.quantile(QUANTILES[0]))
    return bool(numbers["ks"] <= CLOSE and numbers["least"] <= deep)


def exploration(found: Mapping[str, Numbers]) -> Verdict:
    """LMC explores the funnel, and no sampler in the Euclidean metric does."""
    euclidean = [explores(found[name]) for name in ("HMC", "NUTS") if name in found]
    if "LMC-Monge" not in found or not euclidean:
        return "not checked"
    if not explores(found["LMC-Monge"]):
        return "does not hold"
    return "holds in part" if any(euclidean) else "holds"


def alarms(numbers: Numbers) -> list[str]:
    """Warnings of the usual diagnostics about a run."""
    rhat, raised = numbers["rhat"], []
    if rhat is None:
        raised.append("a chain does not move")
    elif rhat > 1.01:
        raised.append(f"R̂ = {rhat:.3f}")
    if numbers["ess"] < 400:
        raised.append(f"an effective sample size of {numbers['ess']:,.0f}")
    if numbers["diverging"] > 0.001:
        raised.append(f"{numbers['diverging']:.1%} of trajectories diverge")
    return raised


def silence(found: Mapping[str, Numbers]) -> Verdict:
    """NUTS fails, and no diagnostic warns."""
    if "NUTS" not in found:
        return "not checked"
    return "does not hold" if explores(found["NUTS"]) or alarms(found["NUTS"]) else "holds"


def present(results: Results) -> Section:
    """A column for each method, and a table."""
    found = by_method(results, "funnel", 1)
    figure = draw(found, funnel(1), "a", np.linspace(-8, 8, 601), np.linspace(-16, 13, 300), (1.0, 3.0, 6.0, 10.0))
    depth = "; ".join(f"{name} went down to a = {numbers['least']:.1f}" for name, numbers in found.items())
    depth = depth.replace("= -", "= −")
    distances = ", ".join(f"{name} {numbers['ks']:.3f}" for name, numbers in found.items())
    below = float(TRUTH.cdf(-7.0))
    caption = (
        f"Draws over contours of the density, a trace of a, and its marginal against the truth, N(0, 15). {depth}. "
        f"{below:.1%} of the probability lies below a = −7, in the neck. KS distances from the truth: {distances}. "
        f"The paper's claim that LMC explores the funnel where Euclidean samplers do not: {exploration(found)}."
    )
    names = ", ".join(found)
    picture = Figure(
        "figure-4", figure, caption,
        f"For each of {names}: a scatter of draws over the contours of a funnel, a line of successive values of a, and "
        "a histogram of a under the curve of a normal density.",
    )  # fmt: skip
    warned = alarms(found["NUTS"]) if "NUTS" in found else []
    claims = [
        Claim(
            "On the funnel with one x, LMC in the Monge metric draws from the right distribution, and HMC and NUTS in "
            "the Euclidean metric do not.",
            exploration(found),
            f"KS distance of a from N(0, 15): {distances}. {depth}. Right is a KS distance of at most {CLOSE} with a "
            f"draw below the true 0.1% quantile, −{-float(TRUTH.quantile(QUANTILES[0])):.1f}.",
        ),
        Claim(
            "The Euclidean chains mix well, so that their failure could go unnoticed.",
            silence(found),
            "The usual diagnostics (R̂ at most 1.01, an effective sample size of at least 400, at most 1 divergence in "
            f"1,000 draws) of NUTS: {'; '.join(warned) or 'no warning' if 'NUTS' in found else 'no run'}.",
        ),
    ]
    return Section([picture], [_table(found)], claims)


def _table(found: Mapping[str, Numbers]) -> Table:
    first, last = ("ks", "chain_ks", "mean", "sd", "least"), ("acceptance", "diverging", "grads", "ess", "rhat")
    columns = (
        Column("method"),
        *(COLUMNS[name] for name in first),
        *(Column(f"{q:.1%}", ".2f", "quantile") for q in QUANTILES),
        *(COLUMNS[name] for name in last),
    )
    truth = ("truth", 0.0, 0.0, TRUTH.mean, TRUTH.sd, None, *TRUTH.quantile(QUANTILES).tolist(), *[None] * len(last))
    rows = [
        (method, *(numbers[name] for name in first), *numbers["quantiles"], *(numbers[name] for name in last))
        for method, numbers in found.items()
    ]
    draws = next(iter(found.values()))["draws"]
    return Table(
        "figure-4", f"The marginal of a, D = 1, {draws:,} draws of four chains", columns, [truth, *rows],
        "LMC and HMC have the paper's ε = 0.2, L = 9 and start, α = 1 and 0. NUTS is BlackJAX's, tuned from around the "
        "same start; the paper used another implementation.",
    )  # fmt: skip


ITEM = Item(
    "figure-4",
    "Figure 4: the funnel with one x",
    tasks,
    present,
    f"a ~ N(0, 15), x ~ N(0, softplus(a)), by {', '.join(METHODS)}. HMC runs with the ε and L of LMC, as its control.",
)
