"""Cost of a Stan density compared with JAX: time of a gradient and of a Hessian-vector product, four chains."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measures.timing import seconds_of
from mongepatch.frontends.stan.build import target_of
from mongepatch.frontends.stan.httpstan_model import HTTPStanModel
from mongepatch.frontends.stan.source import program_from
from mongepatch.paper.console import print_table
from mongepatch.targets import logistic_regression

CODE = """
data { int N; int D; matrix[N, D] X; array[N] int<lower=0, upper=1> y; }
parameters { vector[D] beta; }
model { beta ~ normal(0, 10); y ~ bernoulli_logit(X * beta); }
"""
SIZES = ((20, 3), (270, 14), (5000, 20))
CHAINS, CALLS = 4, 50


def run(rounds: int = 7) -> dict[tuple[int, int], dict[str, float]]:
    """Print a table of microseconds, the fastest of some rounds."""
    results = {size: measure(*size, rounds) for size in SIZES}
    columns = list(next(iter(results.values())))
    print_table(
        f"Logistic regression, {CHAINS} chains: microseconds of a gradient, and of a Hessian-vector product",
        ("", *columns),
        [(f"N = {n}, D = {d}", *(f"{figure:.0f}" for figure in row.values())) for (n, d), row in results.items()],
    )
    return results


def measure(n: int, d: int, rounds: int) -> dict[str, float]:
    """Microseconds of each computation, by name."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    data = {"N": n, "D": d, "X": X, "y": y}
    exact, differences, called_back = (HTTPStanModel(program_from(CODE), data, 0, exact=i == 0) for i in range(3))
    called_back.library = ""  # so that it is called by way of Python
    jax_density = logistic_regression(X, y)
    stan, by_differences, by_callbacks = (target_of(model, data, 0) for model in (exact, differences, called_back))
    functions: dict[str, Any] = {
        "gradient: JAX": _gradient(jax_density),
        "Stan": _gradient(stan),
        "Stan, callback": _gradient(by_callbacks),
        "product: JAX": _product(jax_density),
        "Stan, exact": _product(stan),
        "Stan, differences": _product(by_differences),
    }
    x = jnp.zeros((CHAINS, d))
    calls = {}
    for name, function in functions.items():
        repeated = jax.jit(_repeated(function))
        calls[name] = lambda repeated=repeated: repeated(x)
    return {name: float(times.min()) / CALLS * 1e6 for name, times in seconds_of(calls, rounds).items()}


def _gradient(density: Any) -> Callable[[jax.Array], jax.Array]:
    return jax.grad(density)


def _product(density: Any) -> Callable[[jax.Array], jax.Array]:
    return lambda x: jax.jvp(jax.grad(density), (x,), (jnp.ones_like(x),))[1]


def _repeated(function: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
    """Many calls one after the other, as in a trajectory."""
    many = jax.vmap(function)
    return lambda x: jax.lax.fori_loop(0, CALLS, lambda _, x: x + 1e-9 * many(x), x)
