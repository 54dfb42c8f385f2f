"""How the loops of a run are compiled."""

from functools import cache

import jax
import jax.numpy as jnp
from jax.errors import JaxRuntimeError

_SEQUENTIAL: tuple[dict[str, bool | str], ...] = (
    {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"},
    {"xla_cpu_enable_concurrency_optimized_scheduler": False},  # what older versions call it
)


@cache
def compiler_options() -> dict[str, bool | str]:
    """Options that keep XLA from stopping for good, on versions that know them.

    On CPUs XLA runs operations side by side where they do not depend on each other. In long loops with many calls of
    LAPACK it loses track of one now and then, and all threads wait for ever (jaxlib 0.10.2, two cores, a dense patch of
    46 parameters: every time). One after the other, they take a twentieth longer.
    """
    for options in _SEQUENTIAL:
        try:
            jax.jit(lambda: jnp.zeros(()), compiler_options=options)()
        except JaxRuntimeError:
            continue
        return options
    return {}
