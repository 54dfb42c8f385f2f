"""Products of arrays in full precision."""

import jax
import jax.numpy as jnp


def dot(left: jax.Array, right: jax.Array) -> jax.Array:
    """A product in the full precision of its factors, which accelerators do not give by default."""
    return jnp.dot(left, right, precision=jax.lax.Precision.HIGHEST)
