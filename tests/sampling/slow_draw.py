"""A run of which no draw ends for minutes, to be interrupted: `python slow_draw.py PATH`, in a terminal or a notebook.

It says "waiting" once the program of the first draws runs.
"""

import os
import sys

import jax
import jax.numpy as jnp

import mongepatch as mp
from mongepatch.chains import runner

SETTINGS = {"step_size": 0.1, "warmup": 0, "draws": 2, "chains": 1, "init_spread": 0.0, "progress": False}
OBJECTS = {"metric": mp.Euclidean(), "trajectory": mp.Static(1)}


def density_of(turns):
    """A normal density, which takes long near the origin, except at the starting point."""

    def density(x):
        value = jax.lax.stop_gradient(x[0])
        is_near = (jnp.abs(value) < 10.0) & (value != 0.5)
        idle = jax.lax.fori_loop(0, jnp.where(is_near, turns, 0), lambda _, number: jnp.sin(number), value)
        return -0.5 * (x**2).sum() + 0.0 * idle

    return density


def sample(path):
    waits, wait = [], runner.wait_until_ready

    def told(tree):
        waits.append(tree)
        if len(waits) == 2:  # the first is for a chunk without draws, which is compiled
            print("waiting", flush=True)
        wait(tree)

    runner.wait_until_ready = told
    try:
        return mp.sample(density_of(2_000_000_000), 0.5 * jnp.ones(2), store=path, **SETTINGS, **OBJECTS)
    finally:
        runner.wait_until_ready = wait


def resume(path):
    return mp.resume(path, density_of(1), progress=False, **OBJECTS)


if __name__ == "__main__":
    os.open(os.ttyname(0), os.O_RDWR)  # so that the terminal is that of this process, and Ctrl-C is sent to it
    sample(sys.argv[1])
