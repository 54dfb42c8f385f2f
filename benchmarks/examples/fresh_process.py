"""Runs of one sampler on one problem in a process of its own, in which nothing is compiled before the first run."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.examples.problems import example_problems
from benchmarks.examples.samplers import SAMPLERS, ExampleRun
from benchmarks.measures.fresh_process import OURS_AND_NUMPYRO, cold_then_warm, fresh_process, load_modules
from benchmarks.measures.names import check_problems, check_samplers
from benchmarks.patches.samplers import RunPlan

COMMAND = "examples-one"


def fresh_runs(problem: str, sampler: str, draws: int, warmup: int, seeds: Sequence[int]) -> list[ExampleRun]:
    """Runs for all seeds, made by another Python process; the first of them is cold."""
    options = ("--draws", draws, "--warmup", warmup, *(part for seed in seeds for part in ("--seed", seed)))
    return [ExampleRun(**run) for run in fresh_process(COMMAND, problem, sampler, *options)]


def write_runs(problem: str, sampler: str, draws: int, warmup: int, seeds: Sequence[int], json_file: Path) -> None:
    """Make the runs in this process, and write them to a file."""
    problems = {known.name: known for known in example_problems()}
    check_problems([problem], problems)
    check_samplers([sampler], SAMPLERS)
    load_modules(OURS_AND_NUMPYRO)
    runs = cold_then_warm(lambda seed: SAMPLERS[sampler](problems[problem], RunPlan(draws, seed, warmup)), seeds)
    json_file.write_text(json.dumps([made._asdict() for made in runs]))
