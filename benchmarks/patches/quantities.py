"""Scalars that are measured, from draws of a model's sites."""

from collections.abc import Iterable, Mapping

import numpy as np

from benchmarks.measures.scalars import scalars
from benchmarks.patches.problems import NumpyroProblem

FEW = 5
"""Number of entries of a vector that are compared with the truth; effective sizes and R̂ are of all entries."""


def quantities(problem: NumpyroProblem, draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every scalar [chain, draw] by name: logarithms of scales, such as `log tau`, then the others."""
    # A scale that underflows to 0 must still have a logarithm.
    tiny = np.finfo(float).tiny
    logs = {f"log {name}": np.log(np.maximum(draws[name], tiny)) for name in problem.scales}
    rest = {name: np.asarray(draws[name]) for name in (*problem.logs, *problem.others)}
    return scalars({**logs, **rest})


def neck_sites(problem: NumpyroProblem) -> tuple[str, ...]:
    """Names of log scales, without an index."""
    return (*(f"log {name}" for name in problem.scales), *problem.logs)


def neck_names(problem: NumpyroProblem, names: Iterable[str]) -> list[str]:
    """The names that are log scales, the first few of each site."""
    return _few(names, neck_sites(problem))


def other_names(problem: NumpyroProblem, names: Iterable[str]) -> list[str]:
    """The names that are not log scales, the first few of each site."""
    return _few(names, problem.others)


def _few(names: Iterable[str], sites: Iterable[str]) -> list[str]:
    names = list(names)
    return [name for site in sites for name in [n for n in names if n.split("[")[0] == site][:FEW]]
