"""Time of one step of LMC in the Monge metric, in leapfrog steps of the same density."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measures.timing import seconds_of
from benchmarks.measures.trajectories import trajectory
from mongepatch.paper.console import print_table
from mongepatch.paper.methods import HMC, merged, paper
from mongepatch.program import at_two_vectors
from mongepatch.targets import Target, logistic_regression

SIZES = ((270, 14), (1000, 25), (5000, 100), (20000, 300))
SECONDS_PER_CALL, ALPHA = 0.1, 0.01


def synthetic_regression(n: int, dimension: int) -> Target:
    """Logistic regression on standard normal features with an intercept."""
    rng = np.random.default_rng(n)
    design = np.column_stack([np.ones(n), rng.normal(size=(n, dimension - 1))])
    logits = design @ rng.normal(size=dimension) / np.sqrt(dimension)
    return logistic_regression(design, rng.random(n) < 1.0 / (1.0 + np.exp(-logits)))


def cost_of_a_step(n: int, dimension: int, chains: int, rounds: int) -> dict[str, float]:
    """Seconds per step of each method, for all chains together."""
    target = synthetic_regression(n, dimension)
    position = 0.01 * jax.random.normal(jax.random.key(1), (chains, dimension) if chains > 1 else (dimension,))
    num_steps = _steps_per_call(n, dimension, chains)
    calls = {
        name: trajectory(target, method, position, 1e-3, num_steps)[1]
        for name, method in {"leapfrog": HMC, "merged": merged(ALPHA), "paper": paper(ALPHA)}.items()
    }
    return {name: float(np.median(seconds)) / num_steps for name, seconds in seconds_of(calls, rounds).items()}


def cost_of_products(n: int, dimension: int, rounds: int) -> dict[str, float]:
    """Seconds that products with a design matrix and its transpose take, with one vector and with two at once.

    A gradient takes the former, and two Hessian-vector products take the latter.
    """
    features = jnp.asarray(np.random.default_rng(n).normal(size=(dimension, n)) / np.sqrt(n * dimension))
    vector, num_steps = jnp.ones(dimension), _steps_per_call(n, dimension, 1)

    def product(v: jax.Array) -> jax.Array:
        return features @ (v @ features)

    functions = {
        "one": lambda _, pair: (product(pair[0]), pair[1]),
        "two": lambda _, pair: at_two_vectors(product, *pair),
    }
    pair = (vector, 2.0 * vector)
    calls = {
        name: partial(jax.jit(partial(jax.lax.fori_loop, 0, num_steps, function)).lower(pair).compile(), pair)
        for name, function in functions.items()
    }
    return {name: float(np.median(seconds)) / num_steps for name, seconds in seconds_of(calls, rounds).items()}


def _steps_per_call(n: int, dimension: int, chains: int) -> int:
    return max(10, round(SECONDS_PER_CALL / (chains * n * dimension * 1e-9 + 5e-6)))


def run(chains: tuple[int, ...] = (1, 4), rounds: int = 11) -> dict[int, dict[str, float]]:
    """Print the table; return the median ratio of each scheme for each number of chains."""
    medians = {}
    for count in chains:
        rows, ratios = [], []
        for n, dimension in SIZES:
            cost = cost_of_a_step(n, dimension, count, rounds)
            ratios.append((cost["merged"] / cost["leapfrog"], cost["paper"] / cost["leapfrog"]))
            micros = [f"{1e6 * cost[name]:.1f}" for name in ("leapfrog", "merged", "paper")]
            rows.append((f"N = {n}, D = {dimension}", *micros, *(f"{ratio:.2f}" for ratio in ratios[-1])))
        of_merged, of_paper = (float(ratio) for ratio in np.median(ratios, axis=0))
        rows.append(("median of the four", "", "", "", f"{of_merged:.2f}", f"{of_paper:.2f}"))
        print_table(
            f"One step on a logistic regression, {count} chain{'s' if count > 1 else ''}, {jnp.zeros(()).dtype}",
            ("", "leapfrog µs", "merged µs", "paper µs", "merged / leapfrog", "paper / leapfrog"),
            rows,
        )
        medians[count] = {"merged": of_merged, "paper": of_paper}
    _print_products(rounds)
    return medians


def _print_products(rounds: int) -> None:
    rows = []
    for n, dimension in SIZES:
        cost = cost_of_products(n, dimension, rounds)
        rows.append((f"N = {n}, D = {dimension}", *(f"{1e6 * cost[name]:.2f}" for name in ("one", "two"))))
    title = f"Products with the design matrix and its transpose, {jnp.zeros(()).dtype}"
    print_table(title, ("", "one vector µs", "two vectors µs"), rows)
