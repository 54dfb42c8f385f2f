"""Thousands of chains at once: LAPACK gets large batches of matrices, and XLA must not hang on them."""

import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mongepatch.program import compiling, jit

SETTING = """
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
import mongepatch as mp

warnings.simplefilter("ignore", mp.SamplingWarning)

def run(density, dimension, metric, *, chains, draws, kernel="lmc"):
    settings = dict(trajectory=mp.Static(5), step_size=0.1, warmup=0, draws=draws, kernel=kernel, progress=False)
    mp.sample(density, jnp.zeros(dimension), metric=metric, chains=chains, **settings)

def normal(x):
    return -0.5 * x @ x

def dense(dimension):
    return mp.Dense(lambda x: jnp.eye(dimension) * (1 + x @ x) + jnp.outer(x, x))
"""

FAST = """
def factors(x):
    squares = jnp.outer(x, x) + jnp.eye(6)
    solve = lambda k: jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(squares + k * jnp.eye(6)), squares)
    return normal(x) - sum(jnp.sum(solve(k) ** 2) for k in range(6))

run(normal, 6, dense(6), chains=1000, draws=20)
run(factors, 6, mp.Euclidean(), chains=1000, draws=20)
"""

GRID = """
name, dimension, chains = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
matrix = jnp.asarray(np.random.default_rng(0).normal(size=(2 * dimension, dimension))) / dimension**0.5

def information(x):
    mean = jax.nn.sigmoid(matrix @ x)
    return matrix.T @ (matrix * (mean * (1 - mean))[:, None]) + jnp.eye(dimension)

metrics = {
    "Dense": lambda: dense(dimension),
    "Fisher": lambda: mp.Fisher(information),
    "SoftAbs": lambda: mp.SoftAbs(1.0),
    "Patch, dense": lambda: mp.Patch(lambda x: jnp.tanh(matrix @ x), 1.0),
    "Patch, sparse": lambda: mp.Patch(lambda x: jnp.append(x[1:] - jnp.tanh(x[:-1]), x[0]), 1.0),
    "RMHMC": lambda: dense(dimension),
}
kernel = "rmhmc" if name == "RMHMC" else "lmc"
run(lambda x: normal(x) - 0.1 * jnp.sum(x**4), dimension, metrics[name](), chains=chains, draws=5, kernel=kernel)
"""


def ends(code, *arguments, seconds=300):
    """Run a program in a process of its own, and fail when it fails or hangs."""
    run = subprocess.run([sys.executable, "-c", SETTING + code, *map(str, arguments)], check=False, timeout=seconds)
    assert run.returncode == 0


def test_a_thousand_chains_end():
    ends(FAST)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Dense", "Fisher", "SoftAbs", "Patch, dense", "Patch, sparse", "RMHMC"])
@pytest.mark.parametrize(("dimension", "chains"), [(2, 4000), (6, 1000), (6, 4000), (12, 1000), (20, 4000)])
def test_thousands_of_chains_end_in_every_metric(name, dimension, chains):
    ends(GRID, name, dimension, chains)


def lapack_batches(compiled):
    """How many matrices every call of LAPACK gets."""
    return [int(count) for count in re.findall(r"\[(\d+),\d+,\d+\][^=]*custom-call\(.*lapack_", compiled.as_text())]


def matrices(count, dimension):
    roots = jax.random.normal(jax.random.key(0), (count, dimension, dimension))
    return roots @ roots.mT + jnp.eye(dimension)


FUNCTIONS = {
    "cholesky": jnp.linalg.cholesky,
    "eigh": jnp.linalg.eigh,
    "inv": jnp.linalg.inv,
    "qr": jnp.linalg.qr,
    "slogdet": jnp.linalg.slogdet,
    "solve": lambda a: jnp.linalg.solve(a, a + 1),
    "svd": jnp.linalg.svd,
    "two axes": lambda a: jnp.linalg.cholesky(a[:1000].reshape(10, 100, 20, 20)),
    "loop": lambda a: jax.lax.fori_loop(0, 3, lambda _, b: jnp.linalg.cholesky(b) @ b * 1e-2 + jnp.eye(20), a),
    "branch": lambda a: jax.lax.cond(a[0, 0, 0] > 0, jnp.linalg.cholesky, jnp.negative, a),
}


@pytest.mark.skipif(not compiling._DIVIDES, reason="this version of jaxlib does not divide batches among threads")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_lapack_gets_batches_that_are_not_divided(name):
    function, operand = FUNCTIONS[name], matrices(1003, 20)
    compiled = jit(function).lower(operand).compile()
    batches = lapack_batches(compiled)
    assert batches
    assert max(batches) * 20**3 / 3 < 200_000
    for made, expected in zip(jax.tree.leaves(compiled(operand)), jax.tree.leaves(function(operand)), strict=True):
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("function", [jnp.linalg.cholesky, lambda a: jnp.sin(a) @ a], ids=["small", "without LAPACK"])
def test_other_programs_are_compiled_as_they_are(function):
    operand = matrices(100, 3)
    ours, theirs = (make(function).lower(operand).compile().as_text() for make in (jit, jax.jit))
    without_places = [re.sub(r", metadata={[^}]*}", "", text[text.index("\n%") :]) for text in (ours, theirs)]
    assert without_places[0] == without_places[1]


def test_arguments_by_name_static_ones_and_trees_are_as_in_jax():
    @jit
    def plain(tree, *, factor):
        return {"sum": tree[0] + factor * tree[1], "pair": tree}

    made = plain((jnp.ones(2), jnp.arange(2.0)), factor=3.0)
    np.testing.assert_array_equal(made["sum"], [1.0, 4.0])
    assert made["pair"][1].shape == (2,)
    power = jit(lambda x, *, n: x**n, static_argnames=("n",))
    assert power(2.0, n=3) == 8.0
