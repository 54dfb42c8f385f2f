"""What tests of ours and of front ends share."""

import gc
import math
import os
from pathlib import Path

import jax
import pytest
from jaxtyping import install_import_hook

install_import_hook("mongepatch", "array_checks.check_arrays")  # before anything imports the package

os.environ["MONGEPATCH_CACHE"] = "0"  # tests of the command line compile, and write nothing to the user's folder
jax.config.update("jax_enable_x64", True)
# Most tests run a program once or twice, on little: to optimise it takes longer than to run it as it is.
jax.config.update("jax_disable_most_optimizations", True)

# Traced programs are many small objects, few of which are garbage, and nobody reads where their operations came from.
gc.set_threshold(50_000, 20, 50)
jax.config.update("jax_traceback_in_locations_limit", 0)

_MOST_MEMORY_MAPS = 15_000
"""A quarter of what Linux allows a process. A file of tests may add as many again."""


@pytest.fixture
def optimized():
    """Compiles as for users: for tests that draw for long, or that look at compiled programs, times or rounding."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture
def compiled_programs():
    """Names of the programs that are compiled from now on, nothing compiled before."""
    jax.clear_caches()
    found = []

    def listen(event, _, **about):
        if event == "/jax/core/compile/backend_compile_duration":
            found.append(about.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.fixture(scope="module", autouse=True)
def forget_programs():
    """Lets go of compiled programs after a file, before all of them together exceed the memory maps of a process."""
    yield
    if _memory_maps() > _MOST_MEMORY_MAPS:
        jax.clear_caches()


def _memory_maps() -> float:
    """How many the process has; more than any limit where the system does not tell."""
    maps = Path("/proc/self/maps")
    return maps.read_bytes().count(b"\n") if maps.exists() else math.inf
