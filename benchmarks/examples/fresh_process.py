"""Runs of one sampler on one problem in a process of its own, in which nothing is compiled before the first run."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.examples.problems import example_problems
from benchmarks.examples.samplers import SAMPLERS, ExampleRun
from benchmarks.measures.fresh_process import import_before_the_clock, in_fresh_process
from benchmarks.measures.names import check_problems
from benchmarks.measures.timing import compiled_once
from benchmarks.patches.samplers import RunPlan
from mongepatch.errors import SettingError

COMMAND = "examples-one"


def fresh_runs(problem: str, sampler: str, draws: int, warmup: int, seeds: Sequence[int]) -> list[ExampleRun]:
    """Runs for all seeds, made by another Python process; the first of them is cold."""
    options = [("--draws", draws), ("--warmup", warmup), *(("--seed", seed) for seed in seeds)]
    arguments = [problem, sampler, *(str(part) for option in options for part in option)]
    return [ExampleRun(**run) for run in in_fresh_process(COMMAND, arguments)]


def write_runs(problem: str, sampler: str, draws: int, warmup: int, seeds: Sequence[int], json_file: Path) -> None:
    """Make the runs in this process, and write them to a file."""
    problems = {known.name: known for known in example_problems()}
    check_problems([problem], problems)
    if sampler not in SAMPLERS:
        raise SettingError(f"There is no sampler {sampler}: there are {', '.join(SAMPLERS)}.")
    import_before_the_clock()

    def run(seed: int) -> ExampleRun:
        return SAMPLERS[sampler](problems[problem], RunPlan(draws, seed, warmup))

    runs = [run(seeds[0])]
    with compiled_once():
        runs += [run(seed) for seed in seeds[1:]]
    json_file.write_text(json.dumps([made._asdict() for made in runs]))
