"""Bringing chains near that start very far out.

Where ℓ is lower by millions than elsewhere, as it soon is for a log scale that is off by ten, gradients differ by so
many powers of ten from step to step that no step size suits for long. There is nothing to sample out there: uphill is
the way. Chains follow the gradient for as long as ℓ rises by far more within a unit of length than it varies by among
draws. (Within a unit: into the neck of a funnel, where there is no end to it, ℓ rises by D/2 a unit.)
"""

from functools import partial

import jax
import jax.numpy as jnp

from mongepatch._typing import Matrix, Vector
from mongepatch.program import Program, jit

_FAR = 20.0
"""A rise of ℓ by so many times the dimension is no fluctuation: among draws ℓ has a standard deviation of √(D/2)."""
_MOVES = 100
_SHORTEST, _LONGEST, _LENGTHS = 1e-8, 1.0, 25
"""Lengths of a move; the best of them is taken."""


@jit
def approach(positions: Matrix, density: Program) -> Matrix:
    """Positions [chain, dimension] from which sampling can begin: the same, but for chains that are very far out."""
    return jax.vmap(partial(_uphill, density=density))(positions)


def _uphill(position: Vector, density: Program) -> Vector:
    lengths = jnp.geomspace(_SHORTEST, _LONGEST, _LENGTHS, dtype=position.dtype)

    def move(x: Vector) -> tuple[Vector, jax.Array]:
        value, gradient = jax.value_and_grad(density)(x)
        size = jnp.linalg.norm(gradient)
        points = x + lengths[:, None] * gradient / jnp.where(size > 0, size, 1.0)
        values = jax.vmap(density)(points)
        values = jnp.where(jnp.isfinite(values), values, -jnp.inf)
        best = jnp.argmax(values)
        far = values[best] - value > _FAR * x.size
        return jnp.where(far, points[best], x), far

    def goes_on(carry: tuple[jax.Array, Vector, jax.Array]) -> jax.Array:
        return carry[2] & (carry[0] < _MOVES)

    def go(carry: tuple[jax.Array, Vector, jax.Array]) -> tuple[jax.Array, Vector, jax.Array]:
        return (carry[0] + 1, *move(carry[1]))

    _, position, _ = jax.lax.while_loop(goes_on, go, (jnp.asarray(0), position, jnp.asarray(True)))
    return position
