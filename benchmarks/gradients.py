"""Time of a gradient of the log density in whitened coordinates, compared with the centred model's own."""

from collections.abc import Collection

import jax
import numpy as np

from benchmarks.measures.gradients import gradient_compile_seconds, gradient_loop
from benchmarks.measures.names import check_problems
from benchmarks.measures.timing import seconds_of
from benchmarks.patches.problems import hard_problems
from mongepatch import from_numpyro
from mongepatch.paper.console import print_table

REPEATS = 100
"""Gradients of a call. Calls are short, so that some of them are not disturbed by other work."""


def run(chains: int = 4, rounds: int = 101, only: Collection[str] = ()) -> dict[str, float]:
    """Print the table; return the time of a whitened gradient in plain ones, the least of rounds, by problem."""
    from mongepatch import whiten

    problems = hard_problems()
    check_problems(only, [problem.name for problem in problems])
    rows, found = [], {}
    for problem in problems:
        if only and problem.name not in only:
            continue
        target = from_numpyro(problem.centred, *problem.data)
        densities = {"plain": target.logdensity, "whitened": whiten(target).logdensity}
        positions = 0.1 * jax.random.normal(jax.random.key(0), (chains, target.dimension))
        compiling = {name: gradient_compile_seconds(density, positions) for name, density in densities.items()}
        calls = {name: gradient_loop(density, positions, REPEATS) for name, density in densities.items()}
        least = {name: float(np.min(seconds)) for name, seconds in seconds_of(calls, rounds).items()}
        found[problem.name] = least["whitened"] / least["plain"]
        rows.append(
            (
                problem.name,
                target.dimension,
                *(f"{1e6 * least[name] / (REPEATS * chains):.2f}" for name in densities),
                f"{found[problem.name]:.1f}",
                *(f"{compiling[name]:.2f}" for name in densities),
            )
        )
    print_table(
        f"One gradient of each of {chains} chains, µs per chain",
        ("", "D", "plain", "whitened", "whitened / plain", "compiling, s: plain", "whitened"),
        rows,
        [f"median of the ratios: {np.median(list(found.values())):.1f}"],
    )
    return found
