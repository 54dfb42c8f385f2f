"""Draws of many chains on one device and on several: how many times as fast, and how far apart the draws are."""

import json
import os
import subprocess
import sys
import time
from typing import Any

import jax
import numpy as np

from mongepatch.metrics import Euclidean
from mongepatch.paper.console import print_table
from mongepatch.paper.quiet import sample_quietly
from mongepatch.targets import neal_funnel
from mongepatch.trajectories import NUTS, Static

DEVICES = 8
KINDS = {"NUTS in lockstep": (64, NUTS(), 200), "NUTS at its own pace": (2048, NUTS(), 40), "static": (512, None, 200)}
"""Chains, trajectory and draws."""


def print_figures(rounds: int) -> None:
    """Sample by turns on one device and on all of this process, and print seconds and differences as JSON."""
    found = {}
    for name, (chains, trajectory, draws) in KINDS.items():
        options: dict[str, Any] = {
            **{"metric": Euclidean(), "trajectory": trajectory or Static(10), "step_size": 0.3, "warmup": 0},
            **{"chains": chains, "draws": draws, "progress": False},
        }
        seconds: dict[int, list[float]] = {1: [], DEVICES: []}
        results = {}
        for _ in range(rounds + 1):
            for devices, times in seconds.items():
                tree = sample_quietly(neal_funnel(9), devices=devices, **options)
                times.append(float(tree["posterior"].attrs["sampling_time"]))
                results[devices] = next(iter(tree["posterior"].data_vars.values())).to_numpy()
        apart = float(np.abs(results[1] - results[DEVICES]).max())
        found[name] = {"seconds": {count: min(times[1:]) for count, times in seconds.items()}, "apart": apart}
    print(json.dumps(found))


def run(rounds: int = 5) -> dict[str, float]:
    """Print a table; return how many times as fast all devices are."""
    flags = f"--xla_force_host_platform_device_count={DEVICES}"
    command = [sys.executable, "-m", "benchmarks", "devices-one", "--rounds", str(rounds)]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"XLA_FLAGS": flags})
    found = json.loads(done.stdout.splitlines()[-1])
    rows, faster = [], {}
    for name, figures in found.items():
        one, many = figures["seconds"]["1"], figures["seconds"][str(DEVICES)]
        faster[name] = one / many
        chains, _, draws = KINDS[name]
        rates = (f"{chains * draws / seconds:,.0f}" for seconds in (one, many))
        rows.append((f"{name}, {chains:,} chains", *rates, f"{one / many:.2f}", f"{figures['apart']:.1g}"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print_table(
        f"Neal's funnel, D = 10; {cores} cores; JAX {jax.__version__}; {time.perf_counter() - started:.0f} s",
        ("", "draws/s, 1 device", f"{DEVICES} devices", "times as fast", "draws apart"),
        rows,
    )
    return faster
