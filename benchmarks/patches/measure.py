"""Runs all samplers on one problem."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from benchmarks.measures.effective_size import AGREED
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.quality import Quality, quality
from benchmarks.patches.samplers import (
    RunPlan,
    Sampler,
    SamplerTask,
    blackjax_nuts,
    learnt_centring,
    numpyro_nuts,
    nutpie_nuts,
    nutpie_reparametrised,
    ours,
    walnuts,
)
from benchmarks.patches.truth import ReferenceQuantiles

PEERS = (numpyro_nuts, learnt_centring, blackjax_nuts, nutpie_nuts, nutpie_reparametrised, walnuts)


class SamplerRow(NamedTuple):
    """One sampler on one form of a problem, a run for each seed."""

    name: str
    kind: Literal["ours", "peer", "form"]
    """A form is a reparametrisation made by hand, which is easier to sample."""
    runs: list[Quality]

    def median(self, figure: Callable[[Quality], float]) -> float:
        """The median of a number over seeds."""
        return float(np.median([figure(run) for run in self.runs]))

    @property
    def is_right(self) -> bool:
        """Whether most of the runs are."""
        return 2 * sum(run.verdict == "right" for run in self.runs) > len(self.runs)

    @property
    def always_agrees(self) -> bool:
        """Whether the chains of every run agree, by R̂."""
        return all(run.r_hat < AGREED for run in self.runs)


def measure(
    problem: NumpyroProblem,
    truth: ReferenceQuantiles,
    draws: int,
    seeds: Sequence[int],
    metrics: Sequence[str],
    with_peers: bool,
) -> list[SamplerRow]:
    """A row for each sampler that ran: ours in each metric, NUTS on the forms made by hand, and peers if asked."""
    task = SamplerTask(problem.centred, problem.data)
    rows = [row(problem, truth, task, ours(metric), "ours", draws, seeds) for metric in metrics]
    if with_peers:
        rows += [row(problem, truth, task, peer(), "peer", draws, seeds) for peer in PEERS]
    for name, model in problem.forms.items():
        sampler = numpyro_nuts(f"NumPyro NUTS, {name}")
        rows.append(row(problem, truth, SamplerTask(model, problem.data), sampler, "form", draws, seeds))
    return [row for row in rows if row.runs]


def row(
    problem: NumpyroProblem,
    truth: ReferenceQuantiles,
    task: SamplerTask,
    sampler: Sampler,
    kind: Literal["ours", "peer", "form"],
    draws: int,
    seeds: Sequence[int],
) -> SamplerRow:
    """One sampler on a task of a problem, a run for each seed; none where it fails."""
    return SamplerRow(sampler.name, kind, list(_runs(problem, truth, task, sampler, draws, seeds)))


def _runs(
    problem: NumpyroProblem,
    truth: ReferenceQuantiles,
    task: SamplerTask,
    sampler: Sampler,
    draws: int,
    seeds: Sequence[int],
) -> Iterator[Quality]:
    for seed in seeds:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # peers have many, and the table shows what is wrong
                outcome = sampler.run(task, RunPlan(draws, seed))
        except Exception as error:  # of any library: the other rows of the table are still measured
            report_progress(f"{problem.name}: {sampler.name} is left out: {type(error).__name__}: {error}")
            return
        run = quality(problem, truth.quantiles, outcome)
        verdict = f"{run.verdict}, off by {run.deviation:.1f} ({run.worst})" if run.worst else run.verdict
        report_progress(
            f"{problem.name}: {sampler.name}, seed {seed}: {verdict}, "
            f"R̂ {run.r_hat:.3f}, {run.size:.0f} effective draws, {run.n_grad:,} gradients, {run.seconds:.2f} s, "
            f"compiled in {run.compile_seconds:.1f} s. {run.remark}"
        )
        yield run


def report_progress(line: str) -> None:
    """Report progress on standard error; the tables come later."""
    print(line, file=sys.stderr, flush=True)
