"""Runs the benchmark of patches and prints its tables."""

import json
import platform
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import jax

from benchmarks.measures.names import check_problems
from benchmarks.measures.timing import compiled_once
from benchmarks.measures.versions import versions
from benchmarks.patches import regular, report
from benchmarks.patches.measure import SamplerRow, measure
from benchmarks.patches.problems import hard_problems, regular_problems
from benchmarks.patches.truth import ReferenceQuantiles, truth_of

METRICS = ("auto", "patch")
PACKAGES = ("mongepatch", "jax", "numpyro", "blackjax", "nutpie", "walnutpie", "arviz-stats")


def run(
    draws: int = 1000,
    seeds: Sequence[int] = range(3),
    posteriordb: Path | None = None,
    only: Collection[str] = (),
    metrics: Sequence[str] = METRICS,
    with_peers: bool = True,
    json_file: Path | None = None,
) -> dict[str, list[SamplerRow]]:
    """Print the tables of all or of some problems, and write all numbers to a file."""
    if posteriordb is None:
        print("The models of posteriordb are left out: --posteriordb names a folder of them.", file=sys.stderr)
    all_hard, all_regular = hard_problems(posteriordb), regular_problems(posteriordb)
    known = [problem.name for problem in (*all_hard, *all_regular)]
    check_problems(only, known)
    hard, easy = ([p for p in family if not only or p.name in only] for family in (all_hard, all_regular))
    results: dict[str, list[SamplerRow]] = {}
    truths: dict[str, ReferenceQuantiles] = {}
    for problem in hard:
        with compiled_once():
            truths[problem.name] = truth = truth_of(problem)
            results[problem.name] = rows = measure(problem, truth, draws, seeds, metrics, with_peers)
        report.problem_table(problem, truth, rows, draws)
        report.by_hand_table(problem, rows)
        jax.clear_caches()  # the programs of all problems together exceed the memory maps of a process
        _write(json_file, draws, truths, results)  # after each problem, so that an interrupted run keeps its results
    if results:
        for metric in metrics:
            report.summary_table(results, metric)
        print(report.LEGEND)
    exact = [problem.name for problem in hard if problem.exact]
    if exact:
        report.ks_table(results, exact)
    if easy:
        results |= regular.table(easy, draws, seeds)
    _write(json_file, draws, truths, results)
    return results


def _write(
    path: Path | None, draws: int, truths: Mapping[str, ReferenceQuantiles], results: Mapping[str, Sequence[SamplerRow]]
) -> None:
    if path is None:
        return
    problems = {
        name: {
            "truth": truths[name]._asdict() if name in truths else None,
            "rows": [
                {
                    "name": row.name,
                    "kind": row.kind,
                    "right": row.is_right,
                    "always agrees": row.always_agrees,
                    "runs": [{"verdict": run.verdict, **run._asdict()} for run in row.runs],
                }
                for row in rows
            ],
        }
        for name, rows in results.items()
    }
    stored = {"versions": versions(PACKAGES), "machine": platform.platform(), "draws": draws, "problems": problems}
    path.write_text(json.dumps(stored, indent=1))
