"""What a run on several hosts costs, part by part, with local processes in the place of hosts."""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch import Store
from mongepatch.errors import SettingError
from mongepatch.metrics import Euclidean
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.sampling.cluster import in_parts
from mongepatch.sampling.cluster.hosts import hosts_of_program
from mongepatch.sampling.diagnostics import diagnose
from mongepatch.trajectories import Static

DIMENSION, CHAINS = 10, 8
"""Of each process."""
DRAWS, WARMUP = 2000, 200
EXCHANGES = 200
MOST_SECONDS = 600.0


def density(x: Any) -> Any:
    """A normal density with scales from 0.1 to 10."""
    return -0.5 * (x**2 / jnp.logspace(-2, 2, DIMENSION)).sum()


def _timed(name: str, found: dict[str, float]) -> Any:
    """Add up the seconds that a function of `in_parts` takes."""
    function = getattr(in_parts, name)

    def timed(*arguments: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            found[name] = found.get(name, 0.0) + time.perf_counter() - started

    setattr(in_parts, name, timed)


def print_figures(address: str, count: int, index: int, store: Path) -> None:
    """Sample as one of several processes; the first prints seconds of each part as JSON."""
    if count > 1:
        jax.distributed.initialize(address, count, index)
    found: dict[str, float] = {}
    hosts = hosts_of_program()
    if hosts is not None:
        for name, size in (("exchange of 64 bytes", 64), ("exchange of 64 kB", 64 * 1024)):
            content = bytes(size)
            hosts.wait()
            started = time.perf_counter()
            for _ in range(EXCHANGES):
                hosts.gather(content)
            found[name] = (time.perf_counter() - started) / EXCHANGES
    options: dict[str, Any] = {
        **{"metric": Euclidean("auto"), "trajectory": Static(10), "warmup": WARMUP, "draws": DRAWS},
        **{"chains": CHAINS * count, "progress": False, "store": Store(str(store), seconds=60.0)},
    }
    for name in ("warmed_up", "sample_part", "merged"):
        _timed(name, found)
    started = time.perf_counter()
    tree = sample_quietly(density, jnp.zeros(DIMENSION), **options)
    found["whole"] = time.perf_counter() - started
    attrs = tree["posterior"].attrs
    found |= {"warmup_time": float(attrs["warmup_time"]), "sampling_time": float(attrs["sampling_time"])}
    if index == 0:
        started = time.perf_counter()
        diagnose(tree)
        found["diagnostics"] = time.perf_counter() - started
        found["peak memory, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))


def measure(count: int) -> dict[str, float]:
    """The figures of a run of so many processes."""
    with socket.socket() as opened, tempfile.TemporaryDirectory() as folder:
        opened.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{opened.getsockname()[1]}"
        opened.close()
        command = [sys.executable, "-m", "benchmarks", "hosts-one", address, str(count)]
        places = [[*command, str(index), str(Path(folder) / "run.zarr")] for index in range(count)]
        processes = [subprocess.Popen(place, stdout=subprocess.PIPE, text=True) for place in places]
        try:
            outputs = [process.communicate(timeout=MOST_SECONDS)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
        if any(process.returncode for process in processes):
            raise SettingError("A process of the benchmark has failed: see its message above.")
    figures: dict[str, float] = json.loads(outputs[0].splitlines()[-1])
    return figures


def run(counts: Sequence[int] = (1, 2, 4, 8)) -> dict[int, dict[str, float]]:
    """Print a table of the parts of a run by the number of processes."""
    found = {count: measure(count) for count in counts}
    names = list(found[max(counts)])
    rows = [
        (name, *(f"{figures[name]:.4g}" if name in figures else "" for figures in found.values())) for name in names
    ]
    size = CHAINS * DRAWS * (DIMENSION * 8 + 12 * 8) / 2**20
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print_table(
        f"Seconds; {CHAINS} chains a process, D = {DIMENSION}, {WARMUP} + {DRAWS} draws, {size:.0f} MB a process; "
        f"{cores} cores, load {os.getloadavg()[0]:.0f}",
        ("", *(f"{count} processes" for count in counts)),
        rows,
    )
    assert np.isfinite([value for figures in found.values() for value in figures.values()]).all()
    return found
