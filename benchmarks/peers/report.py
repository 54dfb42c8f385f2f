"""One table of all samplers on all problems, as Markdown and as HTML, and our three worst ratios."""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.measures.effective_size import AGREED, NEARLY
from benchmarks.measures.quantile_checks import FAR
from benchmarks.patches.quality import Quality
from benchmarks.peers.measure import PeerRow

WORST = 3
"""Number of ratios that are listed."""
COLUMNS = (
    "problem", "sampler", "right", "off by", "R̂", "divergences", "ESS", "warm, s", "ESS/s", "ratio",
    "call, s: cold", "warm", "CPU, s", "chosen",
)  # fmt: skip
LEGEND = (
    f"right: runs within {FAR:g} Monte Carlo standard errors of the truth in every quantile from 1% to 99%, with "
    f"R̂ < {AGREED}; slow: with R̂ < {NEARLY}.",
    "off by: the largest difference of a quantile, in standard errors. The truth is exact, or a long run of the "
    "easiest form. Of a vector, the first five entries are compared; R̂ and ESS are of all.",
    "ESS: the least of bulk, tail and squares over all parameters. warm, s: warm-up and sampling without compilation. "
    "ESS/s is of these seconds. ratio: our ESS/s over that of a sampler that is right. Medians over seeds.",
    "call: from the call to the result, in a process of its own and without imports; cold: the first call, with "
    "compilation and building the model; warm: the shortest of later calls, which find compiled programs; CPU: the "
    "least seconds of all cores for such a call, which other load hardly changes.",
    "BlackJAX MCLMC has no Metropolis test, and is right only as far as its bias is small. mici and nutpie's flows "
    "call gradients from Python. WALNUTS has the gradients that nutpie compiles. BlackJAX's samplers and mici have our "
    "log density of the model, which takes less time than NumPyro's own where data are zeros and ones.",
)
_STYLE = (
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.25em .7em;text-align:right;"
    "border-bottom:1px solid #ddd}td:nth-child(-n+2),td:last-child,td.wide{text-align:left}tr.ours{font-weight:bold}"
    "tr.wrong td,td.wide{color:#777}tr.first td{border-top:2px solid #333}"
)


class Ratio(NamedTuple):
    """Our effective draws per second over those of the best peer that is right."""

    problem: str
    value: float
    best: str


def ratios(rows: Sequence[PeerRow]) -> list[Ratio]:
    """One for each problem on which we ran and some peer is right, the worst first; forms by hand do not count."""
    found = []
    for own in (row for row in rows if row.kind == "ours" and row.runs):
        peers = [row for row in rows if row.problem == own.problem and row.kind == "peer" and row.is_right]
        if peers:
            best = max(peers, key=lambda row: row.per_second)
            value = own.per_second / best.per_second if own.is_right else 0.0
            found.append(Ratio(own.problem, value, best.sampler))
    return sorted(found, key=lambda ratio: ratio.value)


def worst_lines(rows: Sequence[PeerRow]) -> list[str]:
    """Our worst ratios as sentences, and the problems without any peer that is right."""
    found = ratios(rows)
    lines = [
        f"{ratio.problem}: {ratio.value:.2f} times the ESS/s of {ratio.best}"
        if ratio.value
        else f"{ratio.problem}: ours is not right; {ratio.best} is"
        for ratio in found[:WORST]
    ]
    judged = {ratio.problem for ratio in found}
    alone = [row.problem for row in rows if row.kind == "ours" and row.runs and row.problem not in judged]
    return lines + ([f"No peer is right on the model as written: {', '.join(alone)}"] if alone else [])


def cells(row: PeerRow, own: PeerRow | None) -> tuple[str, ...]:
    """The text of a row's columns after problem and sampler; only one where there are no runs."""
    if not row.runs:
        return (row.failure,)
    first = row.runs[0].quality
    compared = own is not None and own.runs and own is not row and own.is_right and row.is_right
    return (
        verdicts(row),
        f"{row.median(lambda run: run.deviation):.1f}",
        f"{row.median(lambda run: run.r_hat):.3f}",
        "" if first.divergences is None else f"{row.median(_divergences):.0f}",
        f"{row.median(lambda run: run.size):,.0f}",
        f"{row.median(lambda run: run.seconds):.2f}",
        f"{row.per_second:,.3g}" if row.per_second < 100 else f"{row.per_second:,.0f}",
        f"{own.per_second / row.per_second:.2f}" if compared and own else "",
        f"{row.cold_seconds:.1f}",
        "" if row.warm_seconds is None else f"{row.warm_seconds:.1f}",
        "" if row.warm_cpu_seconds is None else f"{row.warm_cpu_seconds:.1f}",
        first.remark,
    )


def verdicts(row: PeerRow) -> str:
    """Number of runs that are right, and of those that are slow."""
    counts = {name: sum(run.quality.verdict == name for run in row.runs) for name in ("right", "slow")}
    return f"{counts['right']}/{len(row.runs)}" + (f", {counts['slow']} slow" if counts["slow"] else "")


def markdown(rows: Sequence[PeerRow], title: str, packages: Mapping[str, str]) -> str:
    """The page as Markdown."""
    lines = [f"# {title}", "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for row in rows:
        texts = cells(row, own_row(rows, row.problem))
        padding = ("",) * (len(COLUMNS) - 2 - len(texts))
        lines.append(
            "| " + " | ".join(text.replace("|", "\\|") for text in (row.problem, row.sampler, *texts, *padding)) + " |"
        )
    return "\n".join(
        [*lines, "", *_listed(rows, packages, lambda line: f"- {line}", lambda text: f"\n## {text}\n"), ""]
    )


def page(rows: Sequence[PeerRow], title: str, packages: Mapping[str, str]) -> str:
    """The page as HTML, in one file that needs no network."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in COLUMNS)
    body, seen = [], ""
    for row in rows:
        texts = cells(row, own_row(rows, row.problem))
        wide = f'<td class="wide" colspan="{len(COLUMNS) - 2}">{html.escape(texts[0])}</td>'
        filled = "".join(f"<td>{html.escape(text)}</td>" for text in texts) if row.runs else wide
        names = f"<td>{html.escape(row.problem)}</td><td>{html.escape(row.sampler)}</td>"
        marks = [
            row.kind,
            *(["first"] if row.problem != seen else []),
            *([] if row.runs and row.is_right else ["wrong"]),
        ]
        body.append(f'<tr class="{" ".join(marks).replace("by hand", "by-hand")}">{names}{filled}</tr>')
        seen = row.problem
    rest = _listed(
        rows, packages, lambda line: f"<li>{html.escape(line)}</li>", lambda text: f"<h2>{html.escape(text)}</h2>"
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style><h1>{html.escape(title)}</h1><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>{''.join(rest)}</html>\n"
    )


def _listed(
    rows: Sequence[PeerRow],
    packages: Mapping[str, str],
    item: Callable[[str], str],
    heading: Callable[[str], str],
) -> list[str]:
    """What follows the table: our worst ratios, what columns mean, and versions."""
    parts = {
        "Our worst ratios": worst_lines(rows),
        "Columns": LEGEND,
        "Versions": [", ".join(f"{name} {version}" for name, version in packages.items())],
    }
    return [text for title, lines in parts.items() for text in (heading(title), *map(item, lines))]


def own_row(rows: Sequence[PeerRow], problem: str) -> PeerRow | None:
    """Ours on a problem."""
    return next((row for row in rows if row.problem == problem and row.kind == "ours"), None)


def _divergences(run: Quality) -> float:
    return run.divergences or 0
