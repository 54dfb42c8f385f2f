"""The truth about a problem: exact, or from a long run of its easiest form that is kept on disk."""

import hashlib
import inspect
import json
import sys
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from mongepatch._cache import cache_folder, keep
from mongepatch.bench.patches.landmarks import NECK, OTHER, Landmark, Landmarks, estimated, exactly
from mongepatch.bench.patches.problems import Problem
from mongepatch.bench.patches.quality import largest_r_hat, least_size
from mongepatch.bench.patches.quantities import FEW, neck_names, neck_sites, other_names, quantities
from mongepatch.bench.patches.samplers import Plan, Task, numpyro_nuts

ACCEPTANCE = 0.95
LONG = Plan(draws=15_000, seed=2**31 - 1, warmup=3000)
R_HAT, SIZE = 1.005, 4000.0
"""A long run is doubted whose R̂ is above, or whose least effective size is below."""


class Truth(NamedTuple):
    """Landmarks of quantities by name, and how good the run was that they are from."""

    landmarks: Landmarks
    r_hat: float = 1.0
    size: float = float("inf")

    @property
    def is_doubtful(self) -> bool:
        """Whether the run was too short, or did not converge."""
        return self.r_hat > R_HAT or self.size < SIZE


def truth_of(problem: Problem, plan: Plan = LONG) -> Truth:
    """From what is known, from disk, or from a run, which takes a while."""
    exact = _exact(problem)
    if all(name in problem.exact for name in (*neck_sites(problem), *problem.others)):
        return Truth(exact)
    path = cache_folder("bench") / f"{problem.name}-{_fingerprint(problem, plan)}.json"
    if path.is_file():
        truth = _decoded(json.loads(path.read_text()))
    else:
        print(f"{problem.name}: a long run for the truth …", file=sys.stderr, flush=True)
        truth = _long_run(problem, plan)
        keep(path, json.dumps(truth._asdict()))
    if truth.is_doubtful:
        doubts = f"R̂ {truth.r_hat:.4f}, least effective size {truth.size:.0f}"
        print(f"{problem.name}: do not trust the truth too far: {doubts}.", file=sys.stderr)
    return truth._replace(landmarks={**truth.landmarks, **exact})


def _exact(problem: Problem) -> Landmarks:
    necks = {name: exactly(problem.exact[name], NECK) for name in neck_sites(problem) if name in problem.exact}
    others = {name: exactly(problem.exact[name], OTHER) for name in problem.others if name in problem.exact}
    return necks | {f"{name}[0]": marks for name, marks in others.items()}


def _long_run(problem: Problem, plan: Plan) -> Truth:
    easiest = next(iter(problem.forms.values()))
    outcome = numpyro_nuts(target_accept_prob=ACCEPTANCE).run(Task(easiest, problem.data), plan)
    draws = quantities(problem, outcome.variables)
    necks = {name: estimated(draws[name], NECK) for name in neck_names(problem, draws)}
    others = {name: estimated(draws[name], OTHER) for name in other_names(problem, draws)}
    looked_at = {name: draws[name] for name in (*necks, *others)}
    return Truth(necks | others, largest_r_hat(looked_at), least_size(looked_at))


def _fingerprint(problem: Problem, plan: Plan) -> str:
    """Of everything that the draws depend on."""
    module = inspect.getmodule(problem.centred)
    code = inspect.getsource(module) if module else ""
    parts = [problem.name, code, plan, ACCEPTANCE, NECK, OTHER, FEW, version("numpyro"), version("jax")]
    digest = hashlib.sha256(repr(parts).encode())
    for array in problem.data:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _decoded(stored: dict[str, Any]) -> Truth:
    landmarks = {name: tuple(Landmark(*mark) for mark in marks) for name, marks in stored["landmarks"].items()}
    return Truth(landmarks, stored["r_hat"], stored["size"])
