import jax
import pytest

jax.config.update("jax_enable_x64", True)


@pytest.fixture(scope="module", autouse=True)
def forget_programs():
    """Lets go of the compiled programs of a file."""
    yield
    jax.clear_caches()
