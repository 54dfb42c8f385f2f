"""Runs all samplers on all problems, and writes one Markdown and one HTML table."""

from collections.abc import Collection, Sequence
from pathlib import Path

from benchmarks.measures.names import check_problems, check_samplers
from benchmarks.patches.measure import report_progress
from benchmarks.peers import report
from benchmarks.peers.measure import PeerRow, fresh_row, truth
from benchmarks.peers.problems import peer_problems
from benchmarks.peers.samplers import SAMPLERS, installed_packages
from mongepatch.errors import DataError
from mongepatch.paper.console import print_table

OUT, TIMEOUT = Path("peers"), 600.0
NAME = "peers"


def run(
    draws: int = 1000,
    warmup: int = 1000,
    seeds: Sequence[int] = range(3),
    only: Collection[str] = (),
    samplers: Collection[str] = (),
    out: Path = OUT,
    timeout: float = TIMEOUT,
) -> list[PeerRow]:
    """Print a table and write it to a folder, after each row, so that an interrupted run keeps its results."""
    problems = peer_problems()
    check_problems(only, problems)
    check_samplers(samplers, SAMPLERS)
    out.mkdir(parents=True, exist_ok=True)
    title = f"Peers: 4 × {draws:,} draws after {warmup:,} of warm-up, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
    rows: list[PeerRow] = []
    for problem in (name for name in problems if not only or name in only):
        try:
            truth(problems[problem]())  # kept on disk, where the other processes find it
        except DataError as error:
            rows.append(PeerRow(problem, "ours", failure=f"left out: {error}"))
            continue
        for name, sampler in SAMPLERS.items():
            if (samplers and name not in samplers) or not sampler.suits(problem):
                continue
            rows.append(fresh_row(problem, name, draws, warmup, seeds, timeout))
            report_progress(f"{problem}: {name}: {', '.join(report.cells(rows[-1], None))}")
            write(rows, title, out)
    print_table(
        title,
        report.COLUMNS[:-1],
        [
            (row.problem, row.sampler, *report.cells(row, report.own_row(rows, row.problem))[:-1])
            for row in rows
            if row.runs
        ],
        report.LEGEND,
    )
    print("\n".join(("Our worst ratios:", *report.worst_lines(rows))))
    for row in rows:
        if not row.runs:
            print(f"{row.problem}: {row.sampler}: {row.failure}")
    print(f"Written: {out / NAME}.md and {out / NAME}.html")
    return rows


def write(rows: Sequence[PeerRow], title: str, out: Path) -> None:
    """Write both tables."""
    packages = installed_packages()
    (out / f"{NAME}.md").write_text(report.markdown(rows, title, packages), encoding="utf-8")
    (out / f"{NAME}.html").write_text(report.page(rows, title, packages), encoding="utf-8")
