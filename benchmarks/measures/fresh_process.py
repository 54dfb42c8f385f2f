"""Another Python process for a measurement: nothing is compiled in it before, and it may fail or hang alone."""

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from benchmarks.measures.timing import compiled_once

OURS_AND_NUMPYRO = (
    "arviz_base",
    "arviz_stats.base",
    "blackjax",
    "jax.experimental.multihost_utils",
    "mongepatch.frontends.numpyro.build",
    "mongepatch.sampling",
    "numpyro.infer",
    "xarray",
)
"""What our sampler and NumPyro's NUTS import when they are called."""
_CACHES = ("JAX_COMPILATION_CACHE_DIR", "MONGEPATCH_CACHE")
"""Variables that would let a cold run read compiled programs from a folder."""
_LONGEST_REASON = 200

_Run = TypeVar("_Run")


class FreshProcessError(Exception):
    """Another process failed or took too long; the message says why."""


def fresh_process(command: str, *arguments: object, timeout: float | None = None) -> Any:
    """What `python -m benchmarks COMMAND … --json FILE` writes to that file, read as JSON.

    Args:
        command: a command of the benchmarks that has an option `--json`.
        *arguments: all its other arguments and options.
        timeout: seconds after which the process, and all that it has started, is ended.

    Raises:
        FreshProcessError: the process failed or took too long.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _CACHES}
    with tempfile.TemporaryDirectory() as folder:
        figures, errors = Path(folder) / "figures.json", Path(folder) / "errors.txt"
        call = [sys.executable, "-m", "benchmarks", command, *map(str, arguments), "--json", str(figures)]
        with errors.open("w") as stream:
            # A session of its own, so that processes which a sampler starts end together with it.
            process = subprocess.Popen(
                call, env=environment, stdout=subprocess.DEVNULL, stderr=stream, start_new_session=True
            )
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                raise FreshProcessError(f"not done after {timeout:g} s") from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if status != 0 or not figures.is_file():
            raise FreshProcessError(_reason(errors.read_text(errors="replace"), status))
        return json.loads(figures.read_text())


def load_modules(modules: Iterable[str], *, start_jax: bool = True) -> None:
    """Import what samplers would import when they are called, and start JAX's runtime: before the clock starts."""
    for module in modules:
        importlib.import_module(module)
    if start_jax:
        jax.block_until_ready(jnp.zeros(()))


def cold_then_warm(run: Callable[[int], _Run], seeds: Sequence[int]) -> list[_Run]:
    """A run for each seed: the first compiles everything, the others find compiled programs on disk."""
    runs = [run(seeds[0])]
    with compiled_once():
        return runs + [run(seed) for seed in seeds[1:]]


def _reason(errors: str, status: int) -> str:
    """The last line of an error message, which names the exception."""
    lines = [line.strip(" │╭╮╰╯─") for line in errors.splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    return last[:_LONGEST_REASON] or f"ended with status {status}"
