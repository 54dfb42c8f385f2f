"""What tests of several rooms share: a fresh process, a quiet run, and the distance of draws from what is known."""

import os
import subprocess
import sys
import warnings
from typing import NamedTuple

import jax
import numpy as np
import pytest
from arviz_stats.base import array_stats

import mongepatch as mp

HEAVY = (
    "arviz_base",
    "arviz_stats",
    "beartype",
    "blackjax",
    "bridgestan",
    "httpstan",
    "jaxtyping",
    "matplotlib",
    "numpyro",
    "pandas",
    "pymc",
    "pytensor",
    "rich",
    "stan",
    "typer",
    "xarray",
    "zarr",
)
"""Modules that `import mongepatch` must not load."""


def run_python(code, **variables):
    """Run code in a fresh process, with these environment variables besides ours."""
    environment = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


def without(module):
    """Code that makes a module look as if it were not installed."""
    return f"""
import sys
class Hide:
    def find_spec(self, name, *args):
        if name.split(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
"""


def one_step(algorithm, position, key=None):
    """The first state and info of an algorithm, in one program: operation by operation takes longer to compile."""
    key = jax.random.key(0) if key is None else key
    return jax.jit(lambda key, position: algorithm.step(key, algorithm.init(position)))(key, position)


def steps_from(algorithm, position, keys):
    """The same for each of several keys."""
    return jax.jit(jax.vmap(lambda key: algorithm.step(key, algorithm.init(position))))(keys)


def sample_quietly(*arguments, **settings):
    """`mongepatch.sample` without its warnings, for runs that a test judges itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.SamplingWarning)
        return mp.sample(*arguments, **settings)


class Known(NamedTuple):
    """Mean and standard deviation of a quantity, and how well they are known."""

    mean: float
    sd: float
    mean_error: float = 0.0
    sd_error: float = 0.0


def known_from(draws):
    """What draws [chain, draw] say of each quantity.

    The error of a standard deviation is that of the mean of squares, over twice the deviation. ArviZ takes the
    effective size of the values themselves for it, which is too large wherever draws are spread better than
    independent ones: squares are not.
    """
    mcse = array_stats.mcse

    def error_of_mean(values):
        return float(mcse(values, chain_axis=0, draw_axis=1, method="mean"))

    def known(values):
        mean, sd = float(values.mean()), float(values.std())
        return Known(mean, sd, error_of_mean(values), error_of_mean((values - mean) ** 2) / (2.0 * sd))

    return {name: known(values) for name, values in draws.items()}


def deviations(draws, truth):
    """Differences of every mean and standard deviation from the truth, in standard errors of both."""
    found = {}
    for name, seen in known_from({name: draws[name] for name in truth}).items():
        right = truth[name]
        found[f"mean of {name}"] = abs(seen.mean - right.mean) / np.hypot(seen.mean_error, right.mean_error)
        found[f"sd of {name}"] = abs(seen.sd - right.sd) / np.hypot(seen.sd_error, right.sd_error)
    return found


def largest_deviation(draws, truth):
    """The largest of them."""
    return float(np.max(list(deviations(draws, truth).values())))


def flattened(draws):
    """Every scalar of draws [chain, draw, …] by a name of its own."""
    flat = {}
    for name, values in draws.items():
        for index in np.ndindex(values.shape[2:]):
            flat[f"{name}{list(index) if index else ''}"] = values[(slice(None), slice(None), *index)]
    return flat


def slow_but(cases, *fast):
    """Cases of a parametrized test, of which all but the `fast` ones are for `make test-all`."""
    marks = {True: (), False: (pytest.mark.slow,)}
    return [pytest.param(*(case if type(case) is tuple else (case,)), marks=marks[case in fast]) for case in cases]
