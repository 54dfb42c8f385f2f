"""Runs the benchmark of examples and prints its tables."""

import json
import platform
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from benchmarks.examples import report
from benchmarks.examples.fresh_process import fresh_runs
from benchmarks.examples.problems import example_problems
from benchmarks.examples.report import Comparison
from benchmarks.examples.samplers import SAMPLERS, ExampleRun
from benchmarks.measures.names import check_problems
from benchmarks.measures.timing import compiled_once
from benchmarks.measures.versions import versions
from benchmarks.patches.measure import report_progress
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.samplers import RunPlan

PACKAGES = ("mongepatch", "jax", "numpyro", "arviz-stats")


def run(
    draws: int = 1000,
    warmup: int = 1000,
    seeds: Sequence[int] = range(3),
    only: Collection[str] = (),
    is_cold: bool = True,
    json_file: Path | None = None,
) -> dict[str, Comparison]:
    """Print the tables of all or of some problems, and write all numbers to a file."""
    problems = example_problems()
    check_problems(only, [problem.name for problem in problems])
    results: dict[str, Comparison] = {}
    for problem in problems:
        if only and problem.name not in only:
            continue
        made = [_runs(problem, sampler, draws, warmup, seeds, is_cold) for sampler in SAMPLERS]
        if all(made):
            results[problem.name] = Comparison(*made)
            _write(json_file, draws, warmup, results)  # so that an interrupted run keeps its results
    if results:
        report.examples_table(results, draws, warmup, is_cold)
        report.summary(results, is_cold)
    return results


def _runs(
    problem: NumpyroProblem, sampler: str, draws: int, warmup: int, seeds: Sequence[int], is_cold: bool
) -> list[ExampleRun]:
    """A run for each seed; none where the sampler fails."""
    try:
        if is_cold:
            made = fresh_runs(problem.name, sampler, draws, warmup, seeds)
        else:
            with warnings.catch_warnings(), compiled_once():
                warnings.simplefilter("ignore")  # the table shows what is wrong
                made = [SAMPLERS[sampler](problem, RunPlan(draws, seed, warmup)) for seed in seeds]
    except Exception as error:  # of any library: the other problems are still measured
        report_progress(f"{problem.name}: {sampler} is left out: {type(error).__name__}: {error}")
        return []
    for one in made:
        report_progress(
            f"{problem.name}: {sampler}, seed {one.seed}: R̂ {one.r_hat:.3f}, {one.size:.0f} effective draws, "
            f"{one.seconds:.2f} s, compiled in {one.compile_seconds:.1f} s, {one.total_seconds:.1f} s in all. "
            f"{one.remark}"
        )
    return made


def _write(path: Path | None, draws: int, warmup: int, results: Mapping[str, Comparison]) -> None:
    if path is None:
        return
    problems = {
        name: {"ours": [run._asdict() for run in both.ours], "nuts": [run._asdict() for run in both.nuts]}
        for name, both in results.items()
    }
    stored = {
        "versions": versions(PACKAGES),
        "machine": platform.platform(),
        "draws": draws,
        "warmup": warmup,
        "problems": problems,
    }
    path.write_text(json.dumps(stored, indent=1))
