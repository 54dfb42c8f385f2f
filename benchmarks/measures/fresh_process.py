"""Measurements in a process of its own, in which nothing is compiled beforehand."""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

MODULES = (
    "arviz_base",
    "arviz_stats.base",
    "blackjax",
    "jax.experimental.multihost_utils",
    "mongepatch.frontends.numpyro.build",
    "mongepatch.sampling",
    "numpyro.infer",
    "xarray",
)
"""Loaded before the clock starts: both samplers import some of what they use when they are called."""

_CACHES = ("JAX_COMPILATION_CACHE_DIR", "MONGEPATCH_CACHE")
"""Variables that would let a cold run read compiled programs from a folder."""


def import_before_the_clock() -> None:
    """Load what both samplers use, and start JAX's runtime."""
    for module in MODULES:
        importlib.import_module(module)
    jax.block_until_ready(jnp.zeros(()))


def in_fresh_process(command: str, arguments: Sequence[str]) -> Any:
    """What a command of the benchmarks writes to its option `--json`, run by another Python process."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        environment = {name: value for name, value in os.environ.items() if name not in _CACHES}
        whole = [sys.executable, "-m", "benchmarks", command, *arguments, "--json", str(figures)]
        subprocess.run(whole, env=environment, check=True)
        return json.loads(figures.read_text())
