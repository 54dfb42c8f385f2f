"""Operations of PyMC's densities that PyTensor's JAX backend lacks."""

from functools import cache
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
from pymc.distributions import multivariate
from pytensor.scalar.math import Erfcinv, Erfcx


@cache
def supplement() -> None:
    """Tell the backend of them, once. What TensorFlow Probability brings is left to it, where it is installed."""
    from pytensor.link.jax.dispatch import jax_funcify

    if hasattr(multivariate, "PosDefMatrix"):  # not in PyMC 6, which checks a factor instead
        jax_funcify.register(multivariate.PosDefMatrix, lambda op, **_: _is_positive_definite)
    if find_spec("tensorflow_probability") is None:
        jax_funcify.register(Erfcinv, lambda op, **_: _erfcinv)
        if hasattr(jax.scipy.special, "erfcx"):  # not in older versions of JAX
            jax_funcify.register(Erfcx, lambda op, **_: jax.scipy.special.erfcx)


def _is_positive_definite(matrix: Any) -> jax.Array:
    return jnp.isfinite(jnp.linalg.cholesky(matrix)).all()


def _erfcinv(x: Any) -> jax.Array:
    return -jax.scipy.special.ndtri(0.5 * x) / 2**0.5
