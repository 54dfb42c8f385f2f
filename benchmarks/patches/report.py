"""Tables of the bench."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mongepatch.bench.patches.landmarks import DEEP
from mongepatch.bench.patches.measure import Row
from mongepatch.bench.patches.problems import Problem
from mongepatch.bench.patches.quality import AGREED, FAR, NEARLY, Quality
from mongepatch.bench.patches.truth import Truth
from mongepatch.bench.tables import show

DEEPEST = 3
"""Of so many log-scales the 0.1% quantile is shown."""
LEGEND = (
    f"right: runs that are within {FAR:g} standard errors of the truth in every quantile, with R̂ < {AGREED}; "
    f"slow: with R̂ < {NEARLY}. off by: the largest difference, in standard errors. ESS: least of bulk, tail and "
    "squares over all parameters; its time and gradients include warm-up, and not compilation. At most: where every "
    "gradient is a callback into Python, as if gradients were compiled and all else took no time."
)


def problem_table(problem: Problem, truth: Truth, rows: Sequence[Row], draws: int) -> None:
    """Print everything about one problem; medians over seeds."""
    marks = {name: landmark for name, known in truth.landmarks.items() for landmark in known if landmark.share == DEEP}
    necks = list(marks)[:DEEPEST]
    show(
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
            *(f"0.1% of {name} ({marks[name].value:.2f})" for name in necks),
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


def summary_table(results: Mapping[str, Sequence[Row]], metric: str) -> None:
    """Print how much better our sampler in one metric is than the best peer that is right, and than NUTS by hand."""
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
                best.name if best else "none is right" if any(row.kind == "peer" for row in rows) else "",
                *(_ratio(own, peers, figure) for figure in (_per_second, _at_most, _per_1000_grads)),
                by_hand[0].name.split(", ")[-1] if by_hand else "none is right" if forms else "",
                *(_ratio(own, by_hand, figure) for figure in (_per_second, _per_1000_grads)),
            )
        )
    show(
        f"ours, {metric}: ratios to the best peer that is right, and to NUTS on the form made by hand",
        ("", "right", "best peer", "ESS/s", "at most", "per grads", "by hand", "ESS/s", "per grads"),
        lines,
    )


def ks_table(results: Mapping[str, Sequence[Row]], names: Iterable[str]) -> None:
    """Print Kolmogorov–Smirnov distances of the necks of funnels."""
    funnels = [name for name in names if name in results]
    samplers = list(dict.fromkeys(row.name for name in funnels for row in results[name]))
    cells = {(row.name, name): row.median(lambda run: run.ks or 0.0) for name in funnels for row in results[name]}
    show(
        "Kolmogorov–Smirnov distance of the neck's distribution from the truth",
        ("", *funnels),
        [
            (sampler, *(f"{cells[sampler, name]:.3f}" if (sampler, name) in cells else "" for name in funnels))
            for sampler in samplers
        ],
    )


def verdicts(row: Row) -> str:
    """How many runs are right, and how many of the others are only slow."""
    counts = {verdict: sum(run.verdict == verdict for run in row.runs) for verdict in ("right", "slow")}
    return f"{counts['right']}/{len(row.runs)}" + (f", {counts['slow']} slow" if counts["slow"] else "")


def _divergences(row: Row) -> str:
    return "" if row.runs[0].divergences is None else f"{row.median(lambda run: run.divergences or 0):.0f}"


def _ratio(own: Row, others: Sequence[Row], figure: Any) -> str:
    return f"{own.median(figure) / max(row.median(figure) for row in others):.3g}" if others else ""


def _deep(name: str) -> Callable[[Quality], float]:
    return lambda run: run.deep[name]


def _per_second(run: Quality) -> float:
    return run.per_second


def _at_most(run: Quality) -> float:
    return run.most_per_second


def _per_1000_grads(run: Quality) -> float:
    return run.per_1000_grads
