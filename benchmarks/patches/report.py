"""Tables of the benchmark of patches."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarks.measures.effective_size import AGREED, NEARLY
from benchmarks.measures.quantile_checks import DEEP, FAR
from benchmarks.patches.measure import SamplerRow
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.quality import Quality
from benchmarks.patches.truth import ReferenceQuantiles
from mongepatch.paper.console import print_table

DEEPEST = 3
"""Number of log scales whose 0.1% quantile is shown."""
LEGEND = (
    f"right: runs that are within {FAR:g} standard errors of the truth in every quantile, with R̂ < {AGREED}; "
    f"slow: with R̂ < {NEARLY}. off by: the largest difference, in standard errors. ESS: smallest of bulk, tail and "
    "squares over all parameters; times and gradients include warm-up, but not compilation. at most: for samplers that "
    "call back into Python, with compiled gradients and without any other cost."
)


def problem_table(problem: NumpyroProblem, truth: ReferenceQuantiles, rows: Sequence[SamplerRow], draws: int) -> None:
    """Print all measurements of one problem; medians over seeds."""
    deep = {name: one for name, known in truth.quantiles.items() for one in known if one.probability == DEEP}
    necks = list(deep)[:DEEPEST]
    print_table(
        f"{problem.name}: 4 × {draws:,} draws",
        (
            "",
            "right",
            "off by",
            "R̂",
            "diverged",
            "ESS/s",
            "at most",
            "ESS/1000 grads",
            "seconds",
            "compiling",
            *(f"0.1% of {name} ({deep[name].value:.2f})" for name in necks),
        ),
        [
            (
                row.name,
                verdicts(row),
                f"{row.median(lambda run: run.deviation):.1f}",
                f"{row.median(lambda run: run.r_hat):.3f}",
                _divergences(row),
                f"{row.median(_per_second):.3g}",
                f"{row.median(_at_most):.3g}" if row.median(_at_most) != row.median(_per_second) else "",
                f"{row.median(_per_1000_grads):.3g}",
                f"{row.median(lambda run: run.seconds):.2f}",
                f"{max(run.compile_seconds for run in row.runs):.1f}",
                *(f"{row.median(_deep(name)):.2f}" for name in necks),
            )
            for row in rows
        ],
    )


def by_hand_table(problem: NumpyroProblem, rows: Sequence[SamplerRow]) -> None:
    """Print every sampler's figures relative to the best form made by hand, and whether its chains always agree."""
    by_hand = [row for row in rows if row.kind == "form" and row.is_right]
    print_table(
        f"{problem.name}: relative to the best form made by hand that is right"
        + ("" if by_hand else ": there is none"),
        ("", f"R̂ < {AGREED} in every run", "ESS/s", "ESS/1000 grads"),
        [
            (
                row.name,
                _yes_or_no(row.always_agrees),
                *(_ratio(row, by_hand, figure) for figure in (_per_second, _per_1000_grads)),
            )
            for row in rows
        ],
    )


def summary_table(results: Mapping[str, Sequence[SamplerRow]], metric: str) -> None:
    """Print ratios of our sampler in one metric to the best peer that is right, and to NUTS on the form by hand."""
    lines = []
    for name, rows in results.items():
        own = next((row for row in rows if row.name == f"ours, {metric}"), None)
        if own is None:
            continue
        peers = [row for row in rows if row.kind == "peer" and row.is_right]
        forms = [row for row in rows if row.kind == "form"]
        by_hand = sorted((row for row in forms if row.is_right), key=lambda row: -row.median(_per_second))[:1]
        best = max(peers, key=lambda row: row.median(_per_second), default=None)
        lines.append(
            (
                name,
                verdicts(own),
                _yes_or_no(own.always_agrees),
                best.name if best else "none is right" if any(row.kind == "peer" for row in rows) else "",
                *(_ratio(own, peers, figure) for figure in (_per_second, _at_most, _per_1000_grads)),
                by_hand[0].name.split(", ")[-1] if by_hand else "none is right" if forms else "",
                *(_ratio(own, by_hand, figure) for figure in (_per_second, _per_1000_grads)),
            )
        )
    print_table(
        f"ours, {metric}: ratios to the best peer that is right, and to NUTS on the form made by hand",
        ("", "right", f"R̂ < {AGREED}", "best peer", "ESS/s", "at most", "per grads", "by hand", "ESS/s", "per grads"),
        lines,
    )


def ks_table(results: Mapping[str, Sequence[SamplerRow]], names: Iterable[str]) -> None:
    """Print Kolmogorov–Smirnov distances of the necks of funnels."""
    funnels = [name for name in names if name in results]
    samplers = list(dict.fromkeys(row.name for name in funnels for row in results[name]))
    cells = {(row.name, name): row.median(lambda run: run.ks or 0.0) for name in funnels for row in results[name]}
    print_table(
        "Kolmogorov–Smirnov distance of the neck's distribution from the truth",
        ("", *funnels),
        [
            (sampler, *(f"{cells[sampler, name]:.3f}" if (sampler, name) in cells else "" for name in funnels))
            for sampler in samplers
        ],
    )


def verdicts(row: SamplerRow) -> str:
    """Number of runs that are right, and of those that are slow."""
    counts = {verdict: sum(run.verdict == verdict for run in row.runs) for verdict in ("right", "slow")}
    return f"{counts['right']}/{len(row.runs)}" + (f", {counts['slow']} slow" if counts["slow"] else "")


def _yes_or_no(holds: bool) -> str:
    return "yes" if holds else "no"


def _divergences(row: SamplerRow) -> str:
    return "" if row.runs[0].divergences is None else f"{row.median(lambda run: run.divergences or 0):.0f}"


def _ratio(own: SamplerRow, others: Sequence[SamplerRow], figure: Any) -> str:
    return f"{own.median(figure) / max(row.median(figure) for row in others):.3g}" if others else ""


def _deep(name: str) -> Callable[[Quality], float]:
    return lambda run: run.deep[name]


def _per_second(run: Quality) -> float:
    return run.per_second


def _at_most(run: Quality) -> float:
    return run.most_per_second


def _per_1000_grads(run: Quality) -> float:
    return run.per_1000_grads
