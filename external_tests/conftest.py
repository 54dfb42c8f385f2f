import os

import jax
import pytest

# What PyTensor itself computes here is small, and to compile it takes longer than to run it as it is.
os.environ.setdefault("PYTENSOR_FLAGS", "mode=FAST_COMPILE,cxx=")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture
def optimized():
    """Compiles as for users: for tests that draw for long."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture(scope="module", autouse=True)
def forget_programs():
    """Lets go of the compiled programs of a file."""
    yield
    jax.clear_caches()
