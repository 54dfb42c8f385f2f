"""When a trajectory has turned around, and where to look for it in a tree that is built leaf by leaf.

A stretch of a trajectory is judged by the velocities at its ends and by ρ, the sum of the momenta of its leaves, which
stands for the way from one end to the other and needs no straight lines.
"""

from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from mongepatch._linalg import dot
from mongepatch._typing import Count, Flag, ScalarLike, Vector

Rule: TypeAlias = Literal["generalized", "trapezoid", "extended", "chord"]


class Leaf(NamedTuple):
    """What a rule looks at in one phase. Directions are those of time, whichever way the tree grows."""

    position: Vector
    velocity: Vector
    momentum: Vector


def turned(rule: Rule, first: Leaf, last: Leaf, rho: Vector, direction: ScalarLike) -> Flag:
    """Whether a stretch from its first to its last leaf has turned around.

    generalized, extended: v·ρ ≤ 0 at one of the ends (Betancourt 2013).
    trapezoid: the same with both ends counted half in ρ, as NumPyro and BlackJAX do.
    chord: p·(x_last − x_first) ≤ 0 at one of the ends (Hoffman and Gelman 2014).

    References: Betancourt, M. (2013). Generalizing the No-U-Turn sampler to Riemannian manifolds. arXiv:1304.1920.
    Hoffman, M. D. and Gelman, A. (2014). The No-U-Turn sampler: adaptively setting path lengths in Hamiltonian Monte
    Carlo. Journal of Machine Learning Research 15, 1593–1623.
    """
    if rule == "chord":
        way = direction * (last.position - first.position)
        return (dot(way, first.momentum) <= 0) | (dot(way, last.momentum) <= 0)
    if rule == "trapezoid":
        rho = rho - 0.5 * (first.momentum + last.momentum)
    return (dot(first.velocity, rho) <= 0) | (dot(last.velocity, rho) <= 0)


def turned_at_seam(
    first: Leaf, before: Leaf, after: Leaf, last: Leaf, rho_before: Vector, rho_after: Vector, direction: ScalarLike
) -> Flag:
    """Whether a stretch of two halves has turned around between one half and the nearest leaf of the other.

    It catches turns that both halves, and the whole, are blind to, when one step takes about half a period.
    """
    return turned("extended", first, after, rho_before + after.momentum, direction) | turned(
        "extended", before, last, rho_after + before.momentum, direction
    )


class Stack(NamedTuple):
    """First leaves of the sub-trees that are still open, one a depth: all that later leaves are compared with."""

    first: Any
    """`Leaf` at which each sub-tree begins."""
    previous: Any
    """`Leaf` before that, for rules that look at seams; otherwise None."""
    rho: jax.Array
    """Momenta summed up to, and without, the first leaf."""

    @classmethod
    def empty(cls, rule: Rule, depth: int, leaf: Leaf) -> "Stack":
        """Room for sub-trees of this depth."""
        room = jax.tree.map(lambda array: jnp.zeros((depth, *array.shape), array.dtype), leaf)
        return cls(room, room if rule == "extended" else None, jnp.zeros_like(room.momentum))

    def put(self, number: Count, leaf: Leaf, previous: Leaf, rho: Vector, grows: Flag | None = None) -> "Stack":
        """The stack after leaf `number`: even ones begin sub-trees; as it is where the branch does not grow."""
        begins, depth = number % 2 == 0, _depth(number)
        begins = begins if grows is None else begins & grows

        def place(room: jax.Array, entry: jax.Array) -> jax.Array:
            return room.at[depth].set(jnp.where(begins, entry, room[depth]))

        behind = None if self.previous is None else jax.tree.map(place, self.previous, previous)
        return Stack(jax.tree.map(place, self.first, leaf), behind, place(self.rho, rho))

    def turned(self, rule: Rule, number: Count, leaf: Leaf, rho: Vector, direction: ScalarLike) -> Flag:
        """Whether one of the balanced sub-trees that leaf `number` completes has turned around; ρ includes the leaf."""
        deepest = _depth(number)
        completed = jax.lax.population_count(number & ~(number + 1)).astype(deepest.dtype)

        def entry(room: Any, depth: Count) -> Any:
            return jax.tree.map(lambda array: array[depth], room)

        def look(carry: tuple[Count, Flag]) -> tuple[Count, Flag]:
            depth, _ = carry
            first, rho_first = entry(self.first, depth), self.rho[depth]
            turning = turned(rule, first, leaf, rho - rho_first, direction)
            if self.previous is not None:
                # The right half of this sub-tree is the sub-tree one deeper, which the same leaf completes.
                after, before, rho_half = (entry(room, depth + 1) for room in (self.first, self.previous, self.rho))
                seam = turned_at_seam(first, before, after, leaf, rho_half - rho_first, rho - rho_half, direction)
                turning = turning | (seam & (depth < deepest))
            return depth - 1, turning

        def goes_on(carry: tuple[Count, Flag]) -> Flag:
            return (carry[0] > deepest - completed) & ~carry[1]

        return jax.lax.while_loop(goes_on, look, (deepest, jnp.asarray(False)))[1]


def _depth(number: Count) -> Count:
    """How many sub-trees are open around leaf `number`: the ones among its bits, without the last."""
    return jax.lax.population_count(number >> 1)
