"""A short run of many chunks, in a process of its own that may be killed: `python long_run.py PATH`.

It begins the run, or goes on where PATH holds one.
"""

import sys
import time
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)

import jax.numpy as jnp  # noqa: E402

import mongepatch as mp  # noqa: E402
from mongepatch.chains import runner  # noqa: E402

SETTINGS = {"warmup": 300, "draws": 150, "chains": 2, "seed": 5, "save_warmup": True, "thin": 2}


def density(x):
    return -0.5 * ((x / jnp.array([1.0, 3.0, 0.1])) ** 2).sum()


def begin_or_resume(path, pause=0.0, seconds=1e-6):
    def wait(status):
        if pause:
            print(status.draws, flush=True)
            time.sleep(pause)

    if (Path(path) / "_mongepatch" / "run").exists():
        return mp.resume(path, density, callback=wait, progress=False)
    store = mp.Store(path, seconds=seconds, chunk_draws=16)
    return mp.sample(density, jnp.zeros(3), store=store, callback=wait, progress=False, **SETTINGS)


if __name__ == "__main__":
    runner._CHUNK_SECONDS = 0.002  # a few draws in a chunk
    print("begun", flush=True)
    begin_or_resume(sys.argv[1], pause=0.005, seconds=0.03)
