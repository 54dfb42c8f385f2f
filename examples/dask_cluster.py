"""Chains as tasks of a Dask cluster: `python examples/dask_cluster.py [tcp://scheduler:8786]`.

Without an address it begins a cluster of four processes on this machine. `dask_jobqueue.SLURMCluster(...)`, or another
cluster of Dask's, takes the place of `LocalCluster`.
"""

import sys

import jax

jax.config.update("jax_enable_x64", True)

import mongepatch as mp  # noqa: E402


def main(address: str | None = None, chains: int = 8, draws: int = 1000, warmup: int = 1000) -> None:
    """Warm up here, and draw on the workers."""
    from distributed import Client, LocalCluster

    cluster = address or LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        client.upload_file("examples/model.py")  # what workers do not have installed
        executor = client.get_executor()
        tree = mp.sample("model:build", chains=chains, draws=draws, warmup=warmup, executor=executor)
    print(f"{tree['posterior'].sizes['chain']} chains of {tree['posterior'].sizes['draw']} draws.")


if __name__ == "__main__":
    sys.path.insert(0, "examples")
    main(sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] else None, *map(int, sys.argv[2:]))
