"""Known quantiles of a problem: exact, or from a long run of its easiest form that is stored on disk."""

import hashlib
import inspect
import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measures.effective_size import largest_r_hat, smallest_ess_of
from benchmarks.measures.quantile_checks import (
    NECK,
    OTHER,
    KnownQuantile,
    KnownQuantiles,
    estimated_quantiles,
    exact_quantiles,
)
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.quantities import FEW, neck_names, neck_sites, other_names, quantities
from benchmarks.patches.samplers import RunPlan, SamplerTask, numpyro_nuts
from mongepatch._cache import cache_folder, keep

ACCEPTANCE = 0.95
LONG = RunPlan(draws=15_000, seed=2**31 - 1, warmup=3000)
R_HAT, SIZE = 1.005, 4000.0
"""A long run is doubtful where R̂ is above the first, or the smallest effective size below the second."""


class ReferenceQuantiles(NamedTuple):
    """Known quantiles by name, and the quality of the run that they come from."""

    quantiles: KnownQuantiles
    r_hat: float = 1.0
    size: float = float("inf")

    @property
    def is_doubtful(self) -> bool:
        """Whether the run is too short, or did not converge."""
        return self.r_hat > R_HAT or self.size < SIZE


def truth_of(
    problem: NumpyroProblem, plan: RunPlan = LONG, *, probabilities: Sequence[float] = OTHER
) -> ReferenceQuantiles:
    """Exact where possible, else from disk, else from a run, which takes minutes.

    Args:
        problem: the problem.
        plan: the length of the run.
        probabilities: of the quantiles of all that is not a log scale.
    """
    exact = _exact(problem, probabilities)
    if all(name in problem.exact for name in (*neck_sites(problem), *problem.others)):
        return ReferenceQuantiles(exact)
    path = cache_folder("bench") / f"{problem.name}-{_fingerprint(problem, plan, probabilities)}.json"
    if path.is_file():
        truth = _decoded(json.loads(path.read_text()))
    else:
        print(f"{problem.name}: a long run for the truth …", file=sys.stderr, flush=True)
        truth = _long_run(problem, plan, probabilities)
        keep(path, json.dumps(truth._asdict()))
    if truth.is_doubtful:
        doubts = f"R̂ {truth.r_hat:.4f}, smallest effective size {truth.size:.0f}"
        print(f"{problem.name}: do not trust the truth too far: {doubts}.", file=sys.stderr)
    return truth._replace(quantiles={**truth.quantiles, **exact})


def _exact(problem: NumpyroProblem, probabilities: Sequence[float]) -> KnownQuantiles:
    necks = {name: exact_quantiles(problem.exact[name], NECK) for name in neck_sites(problem) if name in problem.exact}
    known = {name: problem.exact[name] for name in problem.others if name in problem.exact}
    return necks | {f"{name}[0]": exact_quantiles(marginal, probabilities) for name, marginal in known.items()}


def _long_run(problem: NumpyroProblem, plan: RunPlan, probabilities: Sequence[float]) -> ReferenceQuantiles:
    easiest = next(iter(problem.forms.values()))
    outcome = numpyro_nuts(target_accept_prob=ACCEPTANCE).run(SamplerTask(easiest, problem.data), plan)
    draws = quantities(problem, outcome.variables)
    necks = {name: estimated_quantiles(draws[name], NECK) for name in neck_names(problem, draws)}
    others = {name: estimated_quantiles(draws[name], probabilities) for name in other_names(problem, draws)}
    compared = {name: draws[name] for name in (*necks, *others)}
    return ReferenceQuantiles(necks | others, largest_r_hat(compared), smallest_ess_of(compared))


def _fingerprint(problem: NumpyroProblem, plan: RunPlan, probabilities: Sequence[float]) -> str:
    """A hash of everything that the draws depend on."""
    module = inspect.getmodule(problem.centred)
    code = inspect.getsource(module) if module else ""
    parts = [problem.name, code, plan, ACCEPTANCE, NECK, tuple(probabilities), FEW, version("numpyro"), version("jax")]
    digest = hashlib.sha256(repr(parts).encode())
    for array in problem.data:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _decoded(stored: dict[str, Any]) -> ReferenceQuantiles:
    quantiles = {name: tuple(KnownQuantile(*one) for one in known) for name, known in stored["quantiles"].items()}
    return ReferenceQuantiles(quantiles, stored["r_hat"], stored["size"])
