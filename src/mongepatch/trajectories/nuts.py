"""The No-U-Turn sampler on any metric and integrator.

The orbit through the start is followed both ways in time, doubling until it turns around, and the draw is one of its
leaves, with probability in proportion to its weight exp(−E + log-volume). An orbit looks the same from each of its
leaves, which is what makes the draw exact; a change of volume along it is a part of the weight.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp

from mongepatch._keywords import checked_keywords
from mongepatch._typing import Flag, PRNGKey, ScalarLike, Vector
from mongepatch.errors import SettingError
from mongepatch.integrators import Phase
from mongepatch.trajectories.base import Dynamics, Level, Transition
from mongepatch.trajectories.tree import Branch, Side, Tree, TreeBuilder, choose, grow, transition
from mongepatch.trajectories.uturn import Rule, Stack
from mongepatch.validation import whole_number


class GrowingTree(NamedTuple):
    """A tree between two steps of its branch: all that the next step needs."""

    start: Vector
    """The position that the tree began at."""
    level: Level
    """How probable the start is."""
    tree: Tree
    side: Side
    key: PRNGKey
    """Of what comes after the branch."""
    branch: Branch
    stack: Stack

    def replaced(self, condition: Flag, other: "GrowingTree") -> "GrowingTree":
        """The other where the condition holds; the stack stays, since a branch writes what it reads of it."""
        chosen: GrowingTree = choose(condition, other._replace(stack=self.stack), self)
        return chosen._replace(stack=self.stack)


@checked_keywords
@partial(jax.tree_util.register_dataclass, data_fields=["depth_limit"], meta_fields=["max_depth", "u_turn"])
@dataclass(frozen=True)
class NUTS:
    """A trajectory that goes on until it turns around.

    Args:
        max_depth: at most 2^max_depth − 1 steps a draw.
        u_turn: when a stretch has turned around. "generalized": the velocity at an end against the sum of momenta,
            v·ρ ≤ 0, on all balanced sub-trees; "trapezoid": with the end leaves counted half, as BlackJAX and NumPyro
            do; "extended": also across the seam of their halves, as Stan does; "chord": the straight line between the
            ends against the momenta.
        depth_limit: a lower limit of the depth, which is traced: another one does not compile again. Warm-up uses it.

    Example:
        >>> trajectory = mp.NUTS(max_depth=8)
    """

    max_depth: int = 10
    u_turn: Rule = "trapezoid"
    depth_limit: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_depth", whole_number("max_depth", self.max_depth))
        if self.max_depth > 20:
            raise SettingError(f"max_depth must be at most 20, a million steps; it is {self.max_depth}.")
        if isinstance(self.depth_limit, int):
            object.__setattr__(self, "depth_limit", whole_number("depth_limit", self.depth_limit))
        if self.u_turn not in get_args(Rule):
            raise SettingError(f"u_turn must be one of {get_args(Rule)}; it is {self.u_turn!r}.")

    def propose(
        self, key: PRNGKey, length_key: PRNGKey, dynamics: Dynamics, start: Phase, divergence_threshold: ScalarLike
    ) -> Transition:
        """A leaf of the tree around the start."""
        return grow(self.builder(dynamics, divergence_threshold), self.max_depth, key, start)

    def begin(self, key: PRNGKey, dynamics: Dynamics, start: Phase, divergence_threshold: ScalarLike) -> GrowingTree:
        """The tree around the start before its first step, for chains that each make a step at a time."""
        builder = self.builder(dynamics, divergence_threshold)
        tree = builder.root(key, start)
        side, key = Side.toss(tree)
        branch = builder.branch(tree, side)
        stack = Stack.empty(self.u_turn, self.max_depth - 1, branch.first)
        return GrowingTree(start.point.position, dynamics.level(start), tree, side, key, branch, stack)

    def goes_on(self, growing: GrowingTree, dynamics: Dynamics, divergence_threshold: ScalarLike) -> Flag:
        """Whether the tree has not ended."""
        return self.builder(dynamics, divergence_threshold).goes_on(growing.tree)

    def has_step(self, growing: GrowingTree, dynamics: Dynamics, divergence_threshold: ScalarLike) -> Flag:
        """Whether its branch gets more leaves."""
        builder = self.builder(dynamics, divergence_threshold)
        return builder.goes_on(growing.tree) & builder.branch_goes_on(growing.branch, growing.tree)

    def extend(self, growing: GrowingTree, dynamics: Dynamics, divergence_threshold: ScalarLike) -> GrowingTree:
        """The tree after one step of its branch; one whose branch is complete stays as it is.

        Steps, leaves and randomness are those of `propose`.
        """
        builder = self.builder(dynamics, divergence_threshold)
        grows = self.has_step(growing, dynamics, divergence_threshold)
        branch, stack = builder.add(growing.branch, growing.stack, growing.side, growing.level, grows=grows)
        return growing._replace(branch=choose(grows, branch, growing.branch), stack=stack)

    def turn(self, growing: GrowingTree, dynamics: Dynamics, divergence_threshold: ScalarLike) -> GrowingTree:
        """The tree with its branch, where that is complete, and with a new one where the tree has not ended."""
        builder = self.builder(dynamics, divergence_threshold)
        tree, side, branch = growing.tree, growing.side, growing.branch
        is_complete = builder.goes_on(tree) & ~builder.branch_goes_on(branch, tree)
        joined = builder.join(tree, side, branch, growing.key)
        next_side, next_key = Side.toss(joined)
        after = growing._replace(tree=joined, side=next_side, key=next_key, branch=builder.branch(joined, next_side))
        return growing.replaced(is_complete, after)

    def finish(self, growing: GrowingTree) -> Transition:
        """The draw of a tree that has ended."""
        return transition(growing.tree, growing.start)

    def builder(self, dynamics: Dynamics, divergence_threshold: Any) -> TreeBuilder:
        """All that decides how trees grow."""
        limit = self.max_depth if self.depth_limit is None else jnp.minimum(self.depth_limit, self.max_depth)
        return TreeBuilder(self.u_turn, limit, dynamics, divergence_threshold)
