"""When a trajectory has turned around, and where to look for it in a tree that is built leaf by leaf.

A stretch of a trajectory is judged by the velocities at its ends and by ρ, the sum of the momenta of its leaves, which
stands for the way from one end to the other and needs no straight lines.
"""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from mongepatch._linalg import dot
from mongepatch._typing import Count, Flag, ScalarLike, Vector

Rule: TypeAlias = Literal["generalized", "trapezoid", "extended", "chord"]
Product: TypeAlias = Callable[[jax.Array, jax.Array], jax.Array]
"""Of two vectors, as `dot`."""


class Leaf(NamedTuple):
    """What a rule looks at in one phase. Directions are those of time, whichever way the tree grows."""

    position: Any
    """For "chord"; None for other rules, so that trees do not carry it along."""
    velocity: Vector
    momentum: Vector


def turned(rule: Rule, first: Leaf, last: Leaf, rho: Vector, direction: ScalarLike, product: Product = dot) -> Flag:
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
        return (product(way, first.momentum) <= 0) | (product(way, last.momentum) <= 0)
    if rule == "trapezoid":
        rho = rho - 0.5 * (first.momentum + last.momentum)
    return (product(first.velocity, rho) <= 0) | (product(last.velocity, rho) <= 0)


def turned_at_seam(
    first: Leaf,
    before: Leaf,
    after: Leaf,
    last: Leaf,
    rho_before: Vector,
    rho_after: Vector,
    direction: ScalarLike,
    product: Product = dot,
) -> Flag:
    """Whether a stretch of two halves has turned around between one half and the nearest leaf of the other.

    It catches turns that both halves, and the whole, are blind to, when one step takes about half a period.
    """
    return turned("extended", first, after, rho_before + after.momentum, direction, product) | turned(
        "extended", before, last, rho_after + before.momentum, direction, product
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
        """Room for the sub-trees of a branch of this depth, of 2^depth leaves."""
        room = jax.tree.map(lambda array: jnp.zeros((max(1, depth), *array.shape), array.dtype), leaf)
        return cls(room, room if rule == "extended" else None, jnp.zeros_like(room.momentum))

    def put(self, number: Count, leaf: Leaf, previous: Leaf, rho: Vector, grows: Flag | None = None) -> "Stack":
        """The stack after leaf `number`: even ones begin sub-trees; as it is where the branch does not grow."""
        begins, depth = number % 2 == 0, _depth(number)
        begins = begins if grows is None else begins & grows

        def place(room: jax.Array, entry: jax.Array) -> jax.Array:
            def at_place(room: jax.Array) -> jax.Array:
                return room.at[depth].set(jnp.where(begins, entry, room[depth]))

            def everywhere(room: jax.Array) -> jax.Array:
                here = begins & (jnp.arange(len(room)) == depth)
                return jnp.where(here[:, None], entry, room)

            return _by_device(at_place, everywhere, room)

        behind = None if self.previous is None else jax.tree.map(place, self.previous, previous)
        return Stack(jax.tree.map(place, self.first, leaf), behind, place(self.rho, rho))

    def turned(self, rule: Rule, number: Count, leaf: Leaf, rho: Vector, direction: ScalarLike) -> Flag:
        """Whether one of the balanced sub-trees that leaf `number` completes has turned around; ρ includes the leaf."""
        deepest = _depth(number)
        completed = jax.lax.population_count(number & ~(number + 1)).astype(deepest.dtype)

        def at(depth: Count, here: Stack, deeper: Stack, product: Product) -> Flag:
            """Whether the sub-tree that begins at a depth has turned around."""
            turning = turned(rule, here.first, leaf, rho - here.rho, direction, product)
            if here.previous is not None:
                # The right half of this sub-tree is the sub-tree one deeper, which the same leaf completes.
                halves = deeper.rho - here.rho, rho - deeper.rho
                seam = turned_at_seam(here.first, deeper.previous, deeper.first, leaf, *halves, direction, product)
                turning = turning | (seam & (depth < deepest))
            return turning

        def one_by_one() -> Flag:
            def look(carry: tuple[Count, Flag]) -> tuple[Count, Flag]:
                depth, _ = carry
                here, deeper = (jax.tree.map(itemgetter(number), self) for number in (depth, depth + 1))
                return depth - 1, at(depth, here, deeper, dot)

            def goes_on(carry: tuple[Count, Flag]) -> Flag:
                return (carry[0] > deepest - completed) & ~carry[1]

            return jax.lax.while_loop(goes_on, look, (deepest, jnp.asarray(False)))[1]

        def all_at_once() -> Flag:
            depths = jnp.arange(len(self.rho), dtype=deepest.dtype)
            deeper = jax.tree.map(lambda room: jnp.roll(room, -1, axis=0), self)
            turning = jax.vmap(partial(at, product=_sum_of_products))(depths, self, deeper)
            return (turning & (depths <= deepest) & (depths > deepest - completed)).any()

        return _by_device(one_by_one, all_at_once)


def _by_device(on_processor: Callable[..., Any], on_accelerator: Callable[..., Any], *arguments: Any) -> Any:
    """What to compute where: an accelerator takes longer to begin an operation than to do more than is needed."""
    return jax.lax.platform_dependent(*arguments, cpu=on_processor, default=on_accelerator)


def _sum_of_products(left: Vector, right: Vector) -> jax.Array:
    """The product of two vectors, such that many are one operation with what comes before and after."""
    return (left * right).sum()


def _depth(number: Count) -> Count:
    """How many sub-trees are open around leaf `number`: the ones among its bits, without the last."""
    return jax.lax.population_count(number >> 1)
