"""A program of one process among several: `python host_program.py PORT COUNT INDEX STORE [kill-warmup|kill-draws]`.

It begins a run, or goes on where STORE holds the parts of one. The last process may be killed on its way.
"""

import os
import signal
import sys
import time
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_cpu_collectives_implementation", "gloo")

from cluster_models import INIT, SETTINGS, normal, trajectory  # noqa: E402

import mongepatch as mp  # noqa: E402
from mongepatch.chains import runner  # noqa: E402
from mongepatch.sampling.keeper import StoreKeeper  # noqa: E402

CHAINS = 8


def kill_after(owner, name, calls):
    """Let this process die in one of the calls of a method."""
    method, left = getattr(owner, name), [calls]

    def counted(self, *arguments, **options):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *arguments, **options)

    setattr(owner, name, counted)


def main(port, count, index, store, fault=""):
    bounded = {"heartbeat_timeout_seconds": 10, "shutdown_timeout_seconds": 10, "initialization_timeout": 60}
    jax.distributed.initialize(f"127.0.0.1:{port}", int(count), int(index), **bounded)
    runner._CHUNK_SECONDS = 0.01  # a few draws in a chunk
    if int(index) == int(count) - 1 and fault == "kill-warmup":
        kill_after(runner.Runner, "_begin", 30)
    if int(index) == int(count) - 1 and fault == "kill-draws":
        kill_after(StoreKeeper, "add", 3)
    begun = time.monotonic()
    settings = {"trajectory": trajectory()}
    if Path(f"{store}.parts", "warm").exists():
        tree = mp.resume(store, normal, progress=False, **settings)
    else:
        tree = mp.sample(normal, INIT, chains=CHAINS, store=mp.Store(store, seconds=1e-6), **SETTINGS, **settings)
    print("draws", dict(tree["posterior"].sizes), round(time.monotonic() - begun, 2), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
