"""One call of a sampler in this process, timed: the first one, and for ours the second one too."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.cold.problems import problems
from benchmarks.cold.timeline import Timeline, timeline
from benchmarks.measures.fresh_process import OURS_AND_NUMPYRO, fresh_process, load_modules
from benchmarks.measures.names import check_problems, check_samplers
from benchmarks.patches.problems import NumpyroProblem
from mongepatch import from_numpyro
from mongepatch.paper.quiet import sample_quietly

COMMAND = "cold-one"


class ColdRun(NamedTuple):
    """Measurements of one process."""

    first: Timeline
    """From the call to the result, nothing compiled before."""
    second: Timeline | None
    """The same again; None where it was not asked for."""
    sampling: float
    """Seconds of the first call in which draws were made, warm-up included; 0 where that is not known."""


def ours(problem: NumpyroProblem, draws: int, warmup: int) -> float:
    """`mongepatch.sample` with everything automatic, the target built anew."""
    target = from_numpyro(problem.centred, *problem.data)
    tree = sample_quietly(target, draws=draws, warmup=warmup, progress=False)
    return float(tree["posterior"].attrs["warmup_time"] + tree["posterior"].attrs["sampling_time"])


def numpyro_nuts(problem: NumpyroProblem, draws: int, warmup: int) -> float:
    """NumPyro's NUTS with its defaults, all chains in one program, and its draws on the host."""
    from numpyro.infer import MCMC, NUTS

    mcmc = MCMC(
        NUTS(problem.centred),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *problem.data)
    for values in mcmc.get_samples(group_by_chain=True).values():
        np.asarray(values)
    return 0.0


CALLS: Mapping[str, Callable[[NumpyroProblem, int, int], float]] = {"ours": ours, "NumPyro NUTS": numpyro_nuts}


def fresh_run(problem: str, sampler: str, draws: int, warmup: int) -> ColdRun:
    """The calls, made by another Python process."""
    found = fresh_process(COMMAND, problem, sampler, "--draws", draws, "--warmup", warmup)
    second = found["second"] and Timeline(**found["second"])
    return ColdRun(Timeline(**found["first"]), second, found["sampling"])


def write_run(problem: str, sampler: str, draws: int, warmup: int, json_file: Path) -> None:
    """Make the calls in this process, and write their times to a file."""
    known = {found.name: found for found in problems()}
    check_problems([problem], known)
    check_samplers([sampler], CALLS)
    load_modules(OURS_AND_NUMPYRO)
    call = CALLS[sampler]
    with timeline() as first:
        sampling = call(known[problem], draws, warmup)
    second: list[Timeline] = []
    if sampler == "ours":  # NumPyro would compile its program again
        with timeline() as second:
            call(known[problem], draws, warmup)
    made = {
        "first": first[0]._asdict(),
        "second": second[0]._asdict() if second else None,
        "sampling": sampling,
    }
    json_file.write_text(json.dumps(made))
