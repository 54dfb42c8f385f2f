"""Moving chains uphill that start very far out, before they are sampled.

Where ℓ is lower by millions than in the bulk, as it soon is for a log scale that is off by ten, gradients change by
many powers of ten from step to step, and no step size suits for long. There is no probability out there, so chains
first follow the gradient, for as long as ℓ rises within a unit of length by far more than it varies among draws. (In
the neck of a funnel, which has no end, ℓ rises by D/2 per unit of length.)
"""

from functools import partial

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, Flag, Positions, Vector
from mongepatch.program import Program, jit

_FAR = 20.0
"""A rise of ℓ by so many times the dimension is no fluctuation: among draws ℓ has a standard deviation of √(D/2)."""
_MOST_MOVES = 100
_SHORTEST_MOVE, _LONGEST_MOVE, _NUM_LENGTHS = 1e-8, 1.0, 25
"""Lengths of a move; the best of them is taken."""


@jit
def ascend(positions: Positions, density: Program) -> Positions:
    """Positions [chain, dimension] from which sampling can begin: the same, but for chains that are very far out."""
    return jax.vmap(partial(_ascend_one, density=density))(positions)


def _ascend_one(position: Vector, density: Program) -> Vector:
    lengths = jnp.geomspace(_SHORTEST_MOVE, _LONGEST_MOVE, _NUM_LENGTHS, dtype=position.dtype)

    def move(x: Vector) -> tuple[Vector, Flag]:
        value, gradient = jax.value_and_grad(density)(x)
        norm = jnp.linalg.norm(gradient)
        points = x + lengths[:, None] * gradient / jnp.where(norm > 0, norm, 1.0)
        values = jax.vmap(density)(points)
        values = jnp.where(jnp.isfinite(values), values, -jnp.inf)
        best = jnp.argmax(values)
        far = values[best] - value > _FAR * x.size
        return jnp.where(far, points[best], x), far

    def goes_on(carry: tuple[Count, Vector, Flag]) -> Flag:
        return carry[2] & (carry[0] < _MOST_MOVES)

    def body(carry: tuple[Count, Vector, Flag]) -> tuple[Count, Vector, Flag]:
        return (carry[0] + 1, *move(carry[1]))

    _, position, _ = jax.lax.while_loop(goes_on, body, (jnp.asarray(0), position, jnp.asarray(True)))
    return position
