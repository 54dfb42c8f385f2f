"""A short run of many chunks, and processes that make such runs until they are killed."""

import os
import time
import warnings
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)

import jax.numpy as jnp  # noqa: E402

import mongepatch as mp  # noqa: E402
from mongepatch._cache import COMPILATION_CACHE, use_compilation_cache  # noqa: E402
from mongepatch.chains import runner  # noqa: E402

SETTINGS = {"warmup": 300, "draws": 150, "chains": 2, "seed": 5, "save_warmup": True, "thin": 2}


def density(x):
    return -0.5 * ((x / jnp.array([1.0, 3.0, 0.1])) ** 2).sum()


def begin_or_resume(path, callback=None, seconds=1e-6, **settings):
    """Begin the run, or go on where the path holds one."""
    if (Path(path) / "_mongepatch" / "run").exists():
        return mp.resume(path, density, callback=callback, progress=False)
    store = mp.Store(path, seconds=seconds, chunk_draws=16)
    return mp.sample(density, jnp.zeros(3), store=store, callback=callback, progress=False, **SETTINGS | settings)


def make_runs(paths, first, programs, settings, told):
    """Make one run after another, and tell of each chunk: the number of the run and its draws so far.

    It is the work of a process that may be killed. Programs are compiled once for all processes, into a folder.
    """
    os.environ[COMPILATION_CACHE] = programs
    use_compilation_cache()
    runner._CHUNK_SECONDS = 0.002  # a few draws in a chunk
    warnings.simplefilter("ignore", mp.SamplingWarning)  # runs are short
    for number in range(first, len(paths)):

        def tell(status, number=number):
            told.send((number, status.draws))
            time.sleep(0.002)  # so that one who listens is not late

        told.send((number, 0))
        begin_or_resume(paths[number], tell, seconds=0.02, **settings)
