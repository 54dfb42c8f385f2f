"""Models that workers and other processes build by themselves, and programs that they run."""

import os
import signal
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import mongepatch as mp

INIT = {"a": np.float64(0.0), "b": np.zeros(2)}
SETTINGS = {"metric": "euclidean", "warmup": 60, "draws": 40, "seed": 3, "progress": False}


def trajectory():
    """Made when it is used: it has an array, and `jax.distributed` must begin before the first one."""
    return mp.Static(5)


def normal(p):
    return -0.5 * (p["a"] ** 2 + ((p["b"] / jnp.array([3.0, 0.1])) ** 2).sum())


def build():
    return normal, INIT


def build_once_killed():
    """The first worker that builds it dies."""
    mark = Path(os.environ["MONGEPATCH_TEST_MARK"])
    if mark.exists() and os.getpid() != int(os.environ["MONGEPATCH_TEST_MAIN"]):
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return build()
