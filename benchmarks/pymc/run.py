"""Runs the benchmark of a PyMC model and prints its table."""

from collections.abc import Sequence

import jax

from benchmarks.measures.effective_size import AGREED, NEARLY
from benchmarks.measures.quantile_checks import FAR
from benchmarks.patches.measure import SamplerRow, row
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.report import verdicts
from benchmarks.patches.samplers import RunPlan, Sampler, SamplerOutcome, SamplerTask
from benchmarks.patches.truth import truth_of
from benchmarks.pymc.models import groups
from benchmarks.pymc.samplers import nutpie_nuts, ours, pymc_nuts
from mongepatch._extras import require
from mongepatch.paper.console import print_table

NAME = "groups-100"
"""A hundred groups of ten observations and a spread between them of a tenth of the noise, as in radon by county."""

METRICS = ("auto", "patch")


def run(draws: int = 1000, seeds: Sequence[int] = range(3)) -> list[SamplerRow]:
    """Print deviations and efficiency of each sampler."""
    problem = _problem()
    model, task = groups(*problem.data), SamplerTask(problem.centred, problem.data)
    # PyMC forks its chains, which is not safe once JAX has started threads: its runs come first.
    first = pymc_nuts(model)
    early = {seed: first.run(task, RunPlan(draws, seed)) for seed in seeds}
    peers = (_done(first.name, early), nutpie_nuts(model))
    truth = truth_of(problem)
    rows = []
    for metric in METRICS:
        jax.clear_caches()  # so that each metric pays for its own compilation
        rows.append(row(problem, truth, task, ours(model, metric), "ours", draws, seeds))
    rows += [row(problem, truth, task, peer, "peer", draws, seeds) for peer in peers]
    print_table(
        f"{problem.name}, centred, in PyMC: 4 × {draws:,} draws, medians of {len(seeds)} seeds",
        ("", "right", "off by", "R̂", "diverged", "ESS", "seconds", "ESS/s", "compiling", "ESS/s with it"),
        [_line(found) for found in rows if found.runs],
        (
            f"right: runs within {FAR:g} standard errors of the truth in every quantile, with R̂ < {AGREED}; slow: with "
            f"R̂ < {NEARLY}. ESS: smallest of bulk, tail and squares over all parameters. The last two columns are of "
            "the first run; PyTensor keeps compiled code on disk, so that a second pm.sample compiles less.",
        ),
    )
    return rows


def _line(found: SamplerRow) -> tuple[str, ...]:
    begun = found.runs[0]
    return (
        found.name,
        verdicts(found),
        f"{found.median(lambda run: run.deviation):.1f}",
        f"{found.median(lambda run: run.r_hat):.3f}",
        f"{found.median(lambda run: run.divergences or 0):.0f}",
        f"{found.median(lambda run: run.size):.0f}",
        f"{found.median(lambda run: run.seconds):.1f}",
        f"{found.median(lambda run: run.per_second):.3g}",
        f"{begun.compile_seconds:.1f}",
        f"{begun.size / (begun.seconds + begun.compile_seconds):.3g}",
    )


def _done(name: str, outcomes: dict[int, SamplerOutcome]) -> Sampler:
    """A sampler that has run already."""
    return Sampler(name, lambda _, plan: outcomes[plan.seed])


def _problem() -> NumpyroProblem:
    require("numpyro", "pymc", "This benchmark")
    from benchmarks.patches.problems import groups

    return next(problem for problem in groups.problems() if problem.name == NAME)
