"""Figure 4: draws of the funnel with one x, by LMC in the Monge metric, by HMC and by NUTS."""

from collections.abc import Mapping

import numpy as np

from mongepatch.bench.funnel import TRUTH
from mongepatch.paper.chain_columns import draw
from mongepatch.paper.chains import METHODS, QUANTILES, by_method, tasks_of
from mongepatch.paper.item import Claim, Column, Figure, Item, Numbers, Results, Section, Size, Table, Task, Verdict
from mongepatch.targets import funnel

CLOSE = 0.05
"""The KS distance up to which a marginal counts as found."""


def tasks(size: Size) -> list[Task]:
    """Four chains of a tenth of the paper's length, or of all of it."""
    return tasks_of("funnel", 1, "a", draws=6_000 if size == "quick" else 60_000)


def explores(numbers: Numbers) -> bool:
    """Whether draws have the right marginal, and went as deep into the neck as one in a thousand should."""
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
    """What the usual diagnostics say against a run."""
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
    """NUTS fails, and no diagnostic tells."""
    if "NUTS" not in found:
        return "not checked"
    return "does not hold" if explores(found["NUTS"]) or alarms(found["NUTS"]) else "holds"


def present(results: Results) -> Section:
    """A column for each method, and the table of their numbers."""
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
            f"1,000 draws) of NUTS: {'; '.join(warned) or 'nothing to remark' if 'NUTS' in found else 'no run'}.",
        ),
    ]
    return Section([picture], [_table(found)], claims)


def _table(found: Mapping[str, Numbers]) -> Table:
    columns = (
        Column("method"),
        Column("KS", ".4f", "largest error of the distribution function of a"),
        Column("KS of a chain", ".4f", "mean over the chains, each on its own"),
        Column("mean", ".2f"),
        Column("sd", ".2f"),
        Column("least a", ".1f"),
        *(Column(name, ".2f", "quantile") for name in ("0.1%", "1%", "50%", "99%")),
        Column("accepted", ".2f"),
        Column("diverged", ".1%", "share of trajectories"),
        Column("gradients a draw", ".1f", "a Hessian-vector product counts as a gradient"),
        Column("least ESS", ",.0f", "over both coordinates: bulk, tails, squares; 0 where a chain stands still"),
        Column("R̂", ".3f"),
    )
    truth = ("truth", 0.0, 0.0, TRUTH.mean, TRUTH.sd, None, *TRUTH.quantile(QUANTILES).tolist(), *[None] * 5)
    rows = [
        (
            name, numbers["ks"], numbers["chain_ks"], numbers["mean"], numbers["sd"], numbers["least"],
            *numbers["quantiles"], numbers["acceptance"], numbers["diverging"], numbers["grads"], numbers["ess"],
            numbers["rhat"],
        )
        for name, numbers in found.items()
    ]  # fmt: skip
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
