"""Runs of one sampler on one problem in a process of its own, in which nothing is compiled before the first run."""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp

from benchmarks.examples.problems import example_problems
from benchmarks.examples.samplers import SAMPLERS, ExampleRun
from benchmarks.measures.names import check_problems
from benchmarks.measures.timing import compiled_once
from benchmarks.patches.samplers import RunPlan
from mongepatch.errors import SettingError

COMMAND = "examples-one"
MODULES = (
    "arviz_base",
    "arviz_stats.base",
    "blackjax",
    "jax.experimental.multihost_utils",
    "mongepatch.frontends.numpyro.build",
    "numpyro.infer",
    "xarray",
)
"""Loaded before the clock starts: both samplers import some of what they use when they are called."""

_CACHES = ("JAX_COMPILATION_CACHE_DIR", "MONGEPATCH_CACHE")
"""Variables that would let a cold run read compiled programs from a folder."""


def fresh_runs(problem: str, sampler: str, draws: int, warmup: int, seeds: Sequence[int]) -> list[ExampleRun]:
    """Runs for all seeds, made by another Python process; the first of them is cold."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        options = {"--draws": draws, "--warmup": warmup, "--json": figures}
        arguments = [problem, sampler, *(str(part) for option in options.items() for part in option)]
        arguments += [part for seed in seeds for part in ("--seed", str(seed))]
        environment = {name: value for name, value in os.environ.items() if name not in _CACHES}
        subprocess.run([sys.executable, "-m", "benchmarks", COMMAND, *arguments], env=environment, check=True)
        return [ExampleRun(**run) for run in json.loads(figures.read_text())]


def write_runs(problem: str, sampler: str, draws: int, warmup: int, seeds: Sequence[int], json_file: Path) -> None:
    """Make the runs in this process, and write them to a file."""
    problems = {known.name: known for known in example_problems()}
    check_problems([problem], problems)
    if sampler not in SAMPLERS:
        raise SettingError(f"There is no sampler {sampler}: there are {', '.join(SAMPLERS)}.")
    for module in MODULES:
        importlib.import_module(module)
    jax.block_until_ready(jnp.zeros(()))  # starts the runtime

    def run(seed: int) -> ExampleRun:
        return SAMPLERS[sampler](problems[problem], RunPlan(draws, seed, warmup))

    runs = [run(seeds[0])]
    with compiled_once():
        runs += [run(seed) for seed in seeds[1:]]
    json_file.write_text(json.dumps([made._asdict() for made in runs]))
