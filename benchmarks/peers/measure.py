"""Runs of one sampler on one problem, in a process of its own."""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measures.fresh_process import FreshProcessError, cold_then_warm, fresh_process, load_modules
from benchmarks.measures.names import check_problems, check_samplers
from benchmarks.measures.quantile_checks import NECK
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.quality import Quality, quality
from benchmarks.patches.samplers import RunPlan, SamplerOutcome
from benchmarks.patches.truth import ReferenceQuantiles, truth_of
from benchmarks.peers.problems import peer_problems
from benchmarks.peers.samplers import SAMPLERS, PeerSampler
from mongepatch.program.stopwatch import stopwatch

COMMAND = "peers-one"


class PeerRun(NamedTuple):
    """Measurements of one run."""

    seed: int
    call_seconds: float
    """From the call to the result: with building the model and, in the first run of a process, with compilation."""
    cpu_seconds: float
    """Of the same call on all cores, with processes that the sampler starts: other load hardly changes it."""
    quality: Quality


class PeerRow(NamedTuple):
    """One sampler on one problem: a run for each seed, or why there is none."""

    problem: str
    sampler: str
    runs: Sequence[PeerRun] = ()
    failure: str = ""

    @property
    def kind(self) -> str:
        """Whether the sampler is ours, a peer, or given a form that is made by hand."""
        return SAMPLERS[self.sampler].kind

    @property
    def is_right(self) -> bool:
        """Whether most of the runs are."""
        return 2 * sum(run.quality.verdict == "right" for run in self.runs) > len(self.runs)

    def median(self, figure: Callable[[Quality], float]) -> float:
        """The median of a number over seeds."""
        return float(np.median([figure(run.quality) for run in self.runs]))

    @property
    def per_second(self) -> float:
        """Least effective draws per second, with warm-up and without compilation; the median over seeds."""
        return self.median(lambda run: run.per_second)

    @property
    def cold_seconds(self) -> float:
        """From the first call in a process to its result."""
        return self.runs[0].call_seconds

    @property
    def warm_seconds(self) -> float | None:
        """The same of later calls, the shortest; None where there is only one call.

        Samplers that compile anew in every call leave their programs on disk in the second, and find them in the third.
        """
        return min((run.call_seconds for run in self.runs[1:]), default=None)

    @property
    def warm_cpu_seconds(self) -> float | None:
        """The processor's seconds of later calls, the least."""
        return min((run.cpu_seconds for run in self.runs[1:]), default=None)


def truth(problem: NumpyroProblem) -> ReferenceQuantiles:
    """Quantiles from 1% to 99%: exact, or of a long run, which takes minutes the first time and is kept on disk."""
    return truth_of(problem, probabilities=NECK)


def fresh_row(problem: str, sampler: str, draws: int, warmup: int, seeds: Sequence[int], timeout: float) -> PeerRow:
    """The runs, made by another Python process; a row with the reason where it fails."""
    missing = SAMPLERS[sampler].missing
    if missing:
        return PeerRow(problem, sampler, failure=f"not installed: {', '.join(missing)}")
    options = ("--draws", draws, "--warmup", warmup, *(part for seed in seeds for part in ("--seed", seed)))
    try:
        found = fresh_process(COMMAND, problem, sampler, *options, timeout=timeout)
    except FreshProcessError as error:
        return PeerRow(problem, sampler, failure=f"failed: {error}")
    return PeerRow(problem, sampler, [_decoded(run) for run in found])


def write_runs(problem: str, sampler: str, draws: int, warmup: int, seeds: Sequence[int], json_file: Path) -> None:
    """Make the runs in this process, and write them to a file."""
    check_problems([problem], peer_problems())
    check_samplers([sampler], SAMPLERS)
    made = measured(peer_problems()[problem](), SAMPLERS[sampler], draws, warmup, seeds)
    json_file.write_text(json.dumps([{**run._asdict(), "quality": run.quality._asdict()} for run in made]))


def measured(
    problem: NumpyroProblem, sampler: PeerSampler, draws: int, warmup: int, seeds: Sequence[int]
) -> list[PeerRun]:
    """A run for each seed; the first is cold."""
    load_modules(sampler.modules, start_jax=not sampler.forks)
    task, made = sampler.task(problem), list[Any]()

    def run(seed: int) -> tuple[SamplerOutcome, float, float]:
        before = _cpu_seconds()
        with warnings.catch_warnings(), stopwatch() as watch:
            warnings.simplefilter("ignore")  # the table shows what is wrong
            if not made:
                made.append(sampler.make(problem))  # with its model, which later runs share
            outcome = made[0].run(task, RunPlan(draws, seed, warmup))
        return outcome, watch.total, _cpu_seconds() - before

    runs = cold_then_warm(run, seeds)
    known = truth(problem).quantiles
    return [
        PeerRun(seed, seconds, cpu_seconds, quality(problem, known, outcome))
        for seed, (outcome, seconds, cpu_seconds) in zip(seeds, runs, strict=True)
    ]


def _decoded(run: dict[str, Any]) -> PeerRun:
    return PeerRun(**{**run, "quality": Quality(**run["quality"])})


def _cpu_seconds() -> float:
    """Of this process and of the children that have ended."""
    return sum(os.times()[:4])
