"""Runs the benchmark of bare densities and prints its table."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.bare.problems import BareProblem, bare_problems
from benchmarks.bare.reading import reading_table
from benchmarks.measures.effective_size import AGREED, NEARLY
from benchmarks.measures.fresh_process import OURS_AND_NUMPYRO, load_modules
from benchmarks.measures.names import check_problems
from benchmarks.measures.quantile_checks import FAR, NECK
from benchmarks.patches.measure import SamplerRow, report_progress
from benchmarks.patches.quality import Quality, quality
from benchmarks.patches.report import verdicts
from benchmarks.patches.samplers import RunPlan, SamplerOutcome
from benchmarks.patches.samplers.in_jax import run_ours
from benchmarks.patches.truth import truth_of
from mongepatch import from_numpyro, residuals_of
from mongepatch.paper.console import print_table
from mongepatch.program.stopwatch import stopwatch

LEGEND = (
    f"right: runs within {FAR:g} standard errors of the truth in every quantile from 1% to 99%, with R̂ < {AGREED}; "
    f"slow: with R̂ < {NEARLY}. R̂ and ESS are the worst of all seeds; ESS is the smallest of bulk, tail and squares "
    "over all parameters. ESS/s includes warm-up but not compilation, and is a median of seeds. ratio: of ESS/s, the "
    "median of the seeds' ratios; per gradient: the same of ESS per gradient-equivalent, on which other load of the "
    "machine has no influence. cold: seconds from the call to the result with nothing compiled before, median."
)


class BareComparison(NamedTuple):
    """Runs on a bare density and on the same model in NumPyro, one for each seed."""

    residuals: int
    """Number of residuals that are read off the bare density."""
    bare: SamplerRow
    numpyro: SamplerRow
    cold: tuple[float, float]
    """Seconds from the call to the result with nothing compiled before, median of seeds."""

    def ratio(self, figure: Callable[[Quality], float] = lambda run: run.per_second) -> float:
        """A number of the bare density's run over that of NumPyro's, median of seeds."""
        runs = zip(self.bare.runs, self.numpyro.runs, strict=True)
        return float(np.median([figure(bare) / figure(numpyro) for bare, numpyro in runs]))

    @property
    def is_always_right(self) -> bool:
        """Whether every run on the bare density is."""
        return all(run.verdict == "right" for run in self.bare.runs)


def run(draws: int = 1000, seeds: Sequence[int] = range(3), only: Collection[str] = ()) -> dict[str, BareComparison]:
    """Print a line for each problem; where all of them run, also the cost of reading."""
    problems = {problem.numpyro.name: problem for problem in bare_problems()}
    check_problems(only, problems)
    load_modules(OURS_AND_NUMPYRO, start_jax=False)
    results = {name: _compare(problem, draws, seeds) for name, problem in problems.items() if not only or name in only}
    all_right = all(both.is_always_right for both in results.values())
    least = min(results, key=lambda name: results[name].ratio())
    print_table(
        f"Bare densities / the same models in NumPyro: 4 × {draws:,} draws, {len(seeds)} seeds",
        ("", "residuals", "right", "R̂", "ESS", "ESS/s", "ratio", "per gradient", "cold, s"),
        [_line(name, both) for name, both in results.items()],
        (
            LEGEND,
            f"Every run on a bare density is right: {'yes' if all_right else 'no'}. "
            f"Least ratio: {results[least].ratio():.2f} ({least}).",
        ),
    )
    if not only:
        reading_table()
    return results


def _compare(problem: BareProblem, draws: int, seeds: Sequence[int]) -> BareComparison:
    """Runs of both, taken in turns: a slow moment of a shared machine then slows both."""
    model = problem.numpyro
    truth = truth_of(model, probabilities=NECK)
    found = residuals_of(problem.logdensity, problem.init)
    forms: dict[str, Callable[[RunPlan], SamplerOutcome]] = {
        "bare": lambda plan: _run_bare(problem, plan),
        "NumPyro": lambda plan: run_ours(from_numpyro(model.centred, *model.data), plan),
    }
    rows = {form: SamplerRow(form, "ours", []) for form in forms}
    cold: dict[str, list[float]] = {form: [] for form in forms}
    for seed in seeds:
        for form, call in forms.items():
            outcome, seconds = _cold_run(call, RunPlan(draws, seed))
            made = quality(model, truth.quantiles, outcome)
            rows[form].runs.append(made)
            cold[form].append(seconds)
            report_progress(
                f"{model.name}: {form}, seed {seed}: {made.verdict}, off by {made.deviation:.1f} ({made.worst}), "
                f"R̂ {made.r_hat:.3f}, {made.size:.0f} effective draws, {made.n_grad:,} gradients, "
                f"{made.seconds:.2f} s, cold {seconds:.1f} s. {made.remark}"
            )
    count = sum(np.size(block) for block in found(problem.init))
    medians = (float(np.median(cold["bare"])), float(np.median(cold["NumPyro"])))
    return BareComparison(count, rows["bare"], rows["NumPyro"], medians)


def _run_bare(problem: BareProblem, plan: RunPlan) -> SamplerOutcome:
    outcome = run_ours(problem.logdensity, plan, init=problem.init)
    return outcome._replace(variables=problem.sites(outcome.variables))


def _cold_run(call: Callable[[RunPlan], SamplerOutcome], plan: RunPlan) -> tuple[SamplerOutcome, float]:
    """A run with nothing compiled before, and its seconds from the call to the result."""
    jax.clear_caches()
    with stopwatch() as watch:
        outcome = call(plan)
    return outcome, watch.total


def _line(name: str, both: BareComparison) -> tuple[str, ...]:
    rows = (both.bare, both.numpyro)
    return (
        name,
        str(both.residuals),
        " / ".join(verdicts(row) for row in rows),
        " / ".join(f"{max(run.r_hat for run in row.runs):.3f}" for row in rows),
        " / ".join(f"{min(run.size for run in row.runs):,.0f}" for row in rows),
        " / ".join(f"{row.median(lambda run: run.per_second):,.0f}" for row in rows),
        f"{both.ratio():.2f}",
        f"{both.ratio(lambda run: run.per_1000_grads):.2f}",
        " / ".join(f"{seconds:.1f}" for seconds in both.cold),
    )
