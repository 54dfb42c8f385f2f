"""Scalars that are looked at, from draws of a model's sites."""

from collections.abc import Iterable, Mapping

import numpy as np

from mongepatch.bench.patches.problems import Problem
from mongepatch.bench.reference import flattened

FEW = 5
"""So many entries of a vector are compared with the truth; their effective sizes and R̂ are taken of all."""


def quantities(problem: Problem, draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every scalar [chain, draw] by name: logarithms of scales, such as `log tau`, then the others."""
    # A scale that has come down to 0 is as far below any truth as it gets.
    tiny = np.finfo(float).tiny
    logs = {f"log {name}": np.log(np.maximum(draws[name], tiny)) for name in problem.scales}
    rest = {name: np.asarray(draws[name]) for name in (*problem.logs, *problem.others)}
    return flattened({**logs, **rest})


def neck_sites(problem: Problem) -> tuple[str, ...]:
    """What log-scales are called, without an index."""
    return (*(f"log {name}" for name in problem.scales), *problem.logs)


def neck_names(problem: Problem, names: Iterable[str]) -> list[str]:
    """Those of the names that are log-scales, the first few of each site."""
    return _few(names, neck_sites(problem))


def other_names(problem: Problem, names: Iterable[str]) -> list[str]:
    """Those of the names that are not, the first few of each site."""
    return _few(names, problem.others)


def _few(names: Iterable[str], sites: Iterable[str]) -> list[str]:
    names = list(names)
    return [name for site in sites for name in [n for n in names if n.split("[")[0] == site][:FEW]]
