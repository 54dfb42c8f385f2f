"""What tests of ours and of front ends share."""

import jax
import pytest
from jaxtyping import install_import_hook

install_import_hook("mongepatch", "array_checks.check_arrays")  # before anything imports the package

jax.config.update("jax_enable_x64", True)
# Most tests run a program once or twice, on little: to optimise it takes longer than to run it as it is.
jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture
def optimized():
    """Compiles as for users: for tests that draw for long, or that look at compiled programs, times or rounding."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture(scope="module", autouse=True)
def forget_programs():
    """Lets go of the compiled programs of a file: all of them together exceed the memory maps of a process."""
    yield
    jax.clear_caches()
