"""One program for every process of several hosts: `slurm.sbatch` and `hosts.sh` start it.

    COORDINATOR=host:port HOSTS=2 HOST=0 python examples/hosts.py run.zarr

Slurm and Open MPI tell a process who it is; then no variable is needed. The store must be in a folder that all hosts
see. Start it again after a break: it goes on where the parts of the store are.
"""

import os
import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)


def join() -> None:
    """Meet the other processes. It must come before anything else that JAX does."""
    if "COORDINATOR" in os.environ:
        place = int(os.environ["HOSTS"]), int(os.environ["HOST"])
        jax.distributed.initialize(os.environ["COORDINATOR"], *place, heartbeat_timeout_seconds=60)
    else:
        jax.distributed.initialize(heartbeat_timeout_seconds=60)


def main(store: str, chains: int = 16, draws: int = 1000, warmup: int = 1000) -> None:
    """Sample, or go on."""
    join()
    import mongepatch as mp

    if Path(f"{store}.parts").exists():
        tree = mp.resume(store, "model:build")
    else:
        tree = mp.sample("model:build", chains=chains, draws=draws, warmup=warmup, store=store)
    if jax.process_index() == 0:
        print(f"{tree['posterior'].sizes['chain']} chains of {tree['posterior'].sizes['draw']} draws are in {store}.")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
