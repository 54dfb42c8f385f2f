"""Random vectors that compile fast: the numbers are those of `jax.random`.

XLA unrolls loops over fewer than 16 numbers, and takes twice as long to compile them. In JAX's default generator a
number depends on its place alone, so that the first numbers of a longer vector are those of a shorter one.
"""

from functools import partial
from typing import Any

import jax

from mongepatch._typing import AnyVector, PRNGKey

_NOT_UNROLLED = 16


@partial(jax.jit, static_argnames=("size", "dtype"))
def normal_vector(key: PRNGKey, size: int, dtype: Any) -> AnyVector:
    """Standard normal numbers."""
    return jax.random.normal(key, (max(size, _NOT_UNROLLED),), dtype)[:size]


@partial(jax.jit, static_argnames=("size", "dtype", "reach"))
def uniform_vector(key: PRNGKey, size: int, dtype: Any, *, reach: float = 1.0) -> AnyVector:
    """Numbers that are uniform between −reach and reach."""
    return jax.random.uniform(key, (max(size, _NOT_UNROLLED),), dtype, -reach, reach)[:size]
