"""Products in full precision, and ratios of determinants."""

import jax
import jax.numpy as jnp


def dot(left: jax.Array, right: jax.Array) -> jax.Array:
    """A product in the full precision of its factors, which accelerators do not give by default."""
    return jnp.dot(left, right, precision=jax.lax.Precision.HIGHEST)


def log_abs_ratio(after: jax.Array, before: jax.Array) -> jax.Array:
    """log|Π after / Π before|, factor by factor: exactly 0 where they agree."""
    return jnp.log(jnp.abs(after / before)).sum()
