"""Draws stay what they were: six short runs through every kernel, several metrics and all of warm-up.

A change of code that is meant to change no draw is held against draws that were made before it. One that changes draws
for a good reason stores new ones: `python -c "import test_same_draws as t; t.store()"` in this folder.
"""

import functools
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but

import mongepatch as mp

STORED = Path(__file__).with_name("same_draws.npz")
HELPERS = Path(__file__).parents[1]


def schools():
    effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def residuals(p):
        return {"theta": (p["theta"] - p["mu"]) / jnp.exp(p["log_tau"]), "y": (effects - p["theta"]) / errors}

    def logdensity(p):
        f = residuals(p)
        prior = -0.5 * (p["mu"] / 5.0) ** 2 - 0.5 * p["log_tau"] ** 2 - 8.0 * p["log_tau"]
        return prior - 0.5 * (f["theta"] @ f["theta"] + f["y"] @ f["y"])

    init = {"mu": jnp.array(4.0), "log_tau": jnp.array(1.0), "theta": jnp.zeros(8)}
    return {
        "target": logdensity,
        "init": init,
        "residuals": residuals,
        "metric": "patch",
        "trajectory": mp.Static(6),
        "warmup": 60,
    }


def regression():
    return {"target": mp.datasets.load("heart").target(), "metric": "euclidean", "warmup": 120}


def automatic():
    """All of warm-up. On a normal density rounding does not grow from draw to draw as it does on a curved one."""
    scales = jnp.array([1.0, 3.0, 0.1])
    return {"target": lambda x: -0.5 * ((x / scales) ** 2).sum(), "init": jnp.zeros(3), "warmup": 300}


def implicit():
    return {
        "target": mp.targets.squiggle(1.0),
        "metric": mp.SoftAbs(1.0),
        "kernel": "rmhmc",
        "trajectory": mp.Static(4),
        "step_size": 0.1,
        "warmup": 0,
    }


def explicit():
    return {
        "target": mp.targets.ring(),
        "metric": mp.Monge(1.0),
        "kernel": "explicit-rmhmc",
        "trajectory": mp.Static(5),
        "warmup": 60,
    }


def langevin():
    metric = mp.Dense(lambda x: jnp.eye(2) * (1.0 + x @ x))
    return {"target": mp.targets.banana(), "metric": metric, "kernel": "mmala", "trajectory": None, "warmup": 60}


RUNS = (schools, regression, automatic, implicit, explicit, langevin)


def draws_of(run):
    """All draws of a run, [chain, draw, scalar], and the log density beside them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.SamplingWarning)  # runs this short have much to be warned of
        tree = mp.sample(**run(), draws=15, chains=2, seed=1, progress=False)
    posterior = tree["posterior"].to_dataset()
    columns = [np.asarray(posterior[name]).reshape(2, 15, -1) for name in sorted(posterior)]
    return np.concatenate([*columns, np.asarray(tree["sample_stats"]["lp"])[..., None]], axis=-1)


FAST = (automatic, regression, langevin)


@functools.cache
def made_anew(runs):
    """Draws of runs by name, from a process that compiles without optimisations: so they round alike everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "draws.npz"
        call = [sys.executable, __file__, str(file), *(run.__name__ for run in runs)]
        path = os.pathsep.join([str(HELPERS), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "MONGEPATCH_QUICK_COMPILE": "0"}
        subprocess.run(call, env=environment, check=True, timeout=600)
        with np.load(file) as draws:
            return dict(draws)


@pytest.mark.parametrize("run", slow_but(RUNS, *FAST), ids=lambda run: run.__name__)
def test_draws_are_those_stored(run):
    found = made_anew(FAST if run in FAST else tuple(other for other in RUNS if other not in FAST))[run.__name__]
    with np.load(STORED) as stored:
        # Rounding differs between versions of XLA, and grows along a chain.
        np.testing.assert_allclose(found, stored[run.__name__], rtol=1e-5, atol=1e-5)


def store():
    """Make all draws anew, and keep them."""
    np.savez_compressed(STORED, **made_anew(RUNS))


def write(file, *names):
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    np.savez_compressed(file, **{run.__name__: draws_of(run) for run in RUNS if run.__name__ in names})


if __name__ == "__main__":
    write(*sys.argv[1:])
