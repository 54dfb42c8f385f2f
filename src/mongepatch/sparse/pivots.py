"""Roots and logarithms of pivots, with derivatives that are products.

Compiled code computes a division that several others use in a loop of its own. Here d^(−½) is computed once, and all
derivatives are made from it.
"""

import jax
import jax.numpy as jnp


@jax.custom_jvp
def inverse_root(pivots: jax.Array) -> jax.Array:
    """D^(−½), whose derivative is −½ d^(−3/2)."""
    # XLA would make one operation of both, which takes five times as long as they do on a CPU.
    return 1.0 / jax.lax.optimization_barrier(jnp.sqrt(pivots))


@inverse_root.defjvp
def _inverse_root_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    scale = inverse_root(*primals)
    return scale, (-0.5 * scale**3) * tangents[0]


@jax.custom_jvp
def log_of(pivots: jax.Array, inverse: jax.Array) -> jax.Array:
    """Log d, with d⁻¹ for its derivative."""
    return jnp.log(pivots)


@log_of.defjvp
def _log_of_jvp(
    primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    return log_of(*primals), primals[1] * tangents[0]
