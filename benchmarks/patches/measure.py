"""All samplers on one problem."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from mongepatch.bench.patches.problems import Problem
from mongepatch.bench.patches.quality import Quality, quality
from mongepatch.bench.patches.samplers import (
    Plan,
    Sampler,
    Task,
    blackjax_nuts,
    numpyro_nuts,
    nutpie_nuts,
    ours,
    walnuts,
)
from mongepatch.bench.patches.truth import Truth

PEERS = (numpyro_nuts, blackjax_nuts, nutpie_nuts, walnuts)


class Row(NamedTuple):
    """One sampler on one form of a problem, a run for each seed."""

    name: str
    kind: Literal["ours", "peer", "form"]
    """A form is made by hand, and so is sampled from more easily."""
    runs: list[Quality]

    def median(self, figure: Callable[[Quality], float]) -> float:
        """Of a figure over seeds."""
        return float(np.median([figure(run) for run in self.runs]))

    @property
    def is_right(self) -> bool:
        """Whether most of the runs are."""
        return 2 * sum(run.verdict == "right" for run in self.runs) > len(self.runs)


def measure(
    problem: Problem, truth: Truth, draws: int, seeds: Sequence[int], metrics: Sequence[str], with_peers: bool
) -> list[Row]:
    """Rows of those that ran: ours in each metric, the peers, and NUTS on the forms made by hand."""
    task = Task(problem.centred, problem.data)
    rows = [row(problem, truth, task, ours(metric), "ours", draws, seeds) for metric in metrics]
    if with_peers:
        rows += [row(problem, truth, task, peer(), "peer", draws, seeds) for peer in PEERS]
        for name, model in problem.forms.items():
            sampler = numpyro_nuts(f"NumPyro NUTS, {name}")
            rows.append(row(problem, truth, Task(model, problem.data), sampler, "form", draws, seeds))
    return [row for row in rows if row.runs]


def row(
    problem: Problem,
    truth: Truth,
    task: Task,
    sampler: Sampler,
    kind: Literal["ours", "peer", "form"],
    draws: int,
    seeds: Sequence[int],
) -> Row:
    """One sampler on a task of a problem, a run for each seed; none where it fails."""
    return Row(sampler.name, kind, list(_runs(problem, truth, task, sampler, draws, seeds)))


def _runs(
    problem: Problem, truth: Truth, task: Task, sampler: Sampler, draws: int, seeds: Sequence[int]
) -> Iterator[Quality]:
    for seed in seeds:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # peers have many, and the table says what is wrong
                outcome = sampler.run(task, Plan(draws, seed))
        except Exception as error:  # of any library, here or not: the other rows of the table are wanted all the same
            say(f"{problem.name}: {sampler.name} is left out: {type(error).__name__}: {error}")
            return
        run = quality(problem, truth.landmarks, outcome)
        verdict = f"{run.verdict}, off by {run.deviation:.1f} ({run.worst})" if run.worst else run.verdict
        say(
            f"{problem.name}: {sampler.name}, seed {seed}: {verdict}, "
            f"R̂ {run.r_hat:.3f}, {run.size:.0f} effective draws, {run.n_grad:,} gradients, {run.seconds:.2f} s, "
            f"compiled in {run.compile_seconds:.1f} s. {run.remark}"
        )
        yield run


def say(line: str) -> None:
    """Tell whoever waits how it goes; the tables come later."""
    print(line, file=sys.stderr, flush=True)
