"""The tree of the No-U-Turn sampler: how it begins, gets a leaf, and is joined with a branch.

`nuts` puts these together, for one chain that follows a tree to its end and for many that each make a step at a time.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, CountLike, Flag, PRNGKey, Scalar, ScalarLike, Vector
from mongepatch.integrators import Failure, Phase
from mongepatch.trajectories.base import Dynamics, Level, Transition, classify
from mongepatch.trajectories.uturn import Leaf, Rule, Stack, turned, turned_at_seam


class Span(NamedTuple):
    """A stretch of the orbit: what is kept of its leaves."""

    log_weight: Scalar
    """Log of the sum of the leaves' weights, the start's being 1."""
    rho: Vector
    """Sum of the leaves' momenta."""
    proposal: Phase
    """A leaf, drawn by weight."""
    log_ratio: Scalar
    """Log of the proposal's weight; for a trajectory of fixed length, of its end's."""


class Totals(NamedTuple):
    """What has been spent, and met, in all of the tree."""

    n_steps: Count
    n_grad: Count
    acceptance: Scalar
    """Sum of min(1, weight) over the leaves; for a trajectory of fixed length, the last one's times their number."""
    least: Scalar
    """Log of the least weight of all leaves, the start's being 0."""
    most: Scalar
    """Log of the largest."""
    failure: Count


class Branch(NamedTuple):
    """A sub-tree that grows leaf by leaf from an edge of the tree."""

    node: Any
    """The integrator's node at the last leaf."""
    first: Leaf
    last: Leaf
    span: Span
    number: Count
    """Leaves so far."""
    turned: Flag
    totals: Totals


class Tree(NamedTuple):
    """All of the orbit so far, but for the branch that grows."""

    left: Any
    """The integrator's node at the earliest leaf."""
    right: Any
    """At the latest."""
    span: Span
    depth: Count
    turned: Flag
    totals: Totals
    key: PRNGKey


class Side(NamedTuple):
    """Where the next branch grows, and its randomness."""

    forward: Flag
    direction: Scalar
    """1 forward in time, −1 backward."""
    leaf_key: PRNGKey
    accept_key: PRNGKey

    @classmethod
    def toss(cls, tree: Tree) -> tuple["Side", PRNGKey]:
        """The side that a coin decides, and the key of what comes after its branch."""
        key, way_key, leaf_key, accept_key = jax.random.split(tree.key, 4)
        forward = jax.random.bernoulli(way_key)
        direction = jnp.where(forward, 1, -1).astype(tree.span.log_weight.dtype)
        return cls(forward, direction, leaf_key, accept_key), key


class TreeBuilder(NamedTuple):
    """All that decides how trees grow."""

    rule: Rule
    max_depth: CountLike
    dynamics: Dynamics
    divergence_threshold: ScalarLike
    fixed_steps: Count | None = None
    """Steps of a trajectory of fixed length: one branch, whose last leaf is proposed. 0 for a tree, and None where
    there are only trees."""

    def root(self, key: PRNGKey, start: Phase) -> Tree:
        """A tree whose only leaf is the start."""
        left, right = self.dynamics.depart(start, -1), self.dynamics.depart(start, 1)
        zero, dtype = jnp.int32(0), start.velocity.dtype
        return Tree(
            left,
            right,
            Span(jnp.zeros((), dtype), self.leaf(start).momentum, start, jnp.zeros((), dtype)),
            zero,
            jnp.asarray(False),
            Totals(zero, self._departure(right.phase), *3 * (jnp.zeros((), dtype),), start.failure),
            key,
        )

    def _departure(self, phase: Phase) -> Count:
        """What leaving both ways has cost: the slope is computed once, and the bends that a kick makes twice."""
        cost = self.dynamics.metric.cost(phase.velocity.size)
        return phase.n_grad + jnp.minimum(phase.n_grad, cost.volume_bends * cost.bend)

    def goes_on(self, tree: Tree) -> Flag:
        """Whether the tree is to be doubled."""
        depth = self._by_length(self.max_depth, 1)
        return (tree.depth < depth) & ~tree.turned & (tree.totals.failure == Failure.NONE)

    def branch_goes_on(self, branch: Branch, tree: Tree) -> Flag:
        """Whether the branch gets more leaves: as many as the tree has, or fewer where it turns around or fails."""
        full = branch.number >= self._by_length(jnp.left_shift(1, tree.depth), self.fixed_steps)
        return ~full & ~branch.turned & (branch.totals.failure == Failure.NONE)

    def branch(self, tree: Tree, side: Side) -> Branch:
        """A branch without leaves, at the edge of the tree."""
        edge = choose(side.forward, tree.right, tree.left)
        nothing = jnp.zeros_like(tree.span.rho)
        leaf = self._leaf(nothing, nothing, nothing)  # there is none yet, and nobody looks at it
        span = Span(jnp.full_like(tree.span.log_weight, -jnp.inf), nothing, edge.phase, tree.span.log_ratio)
        return Branch(edge, leaf, leaf, span, jnp.int32(0), jnp.asarray(False), tree.totals)

    def add(
        self, branch: Branch, stack: Stack, side: Side, start: Level, *, grows: Flag | None = None
    ) -> tuple[Branch, Stack]:
        """The branch with one more leaf, a step further; the stack is left as it is where the branch does not grow."""
        node = self.dynamics.advance(branch.node, side.direction)
        leaf = self.leaf(node.phase)
        log_ratio = self.dynamics.level(node.phase, leaf.momentum).log_ratio(start)
        # A tree is given up by the spread of its weights, which is the same from whichever leaf it was begun.
        least, most = jnp.minimum(branch.totals.least, log_ratio), jnp.maximum(branch.totals.most, log_ratio)
        failure = classify(log_ratio, node.phase, most - least > self.divergence_threshold)
        weight = jnp.where(failure == Failure.NONE, log_ratio, -jnp.inf)
        rho = branch.span.rho + leaf.momentum

        def in_tree() -> tuple[Scalar, Flag, Stack, Flag]:
            log_weight = jnp.logaddexp(branch.span.log_weight, weight)
            key = jax.random.fold_in(side.leaf_key, branch.number)
            chosen = -jax.random.exponential(key, dtype=weight.dtype) <= weight - log_weight
            number = branch.number if grows is None else jnp.where(grows, branch.number, 0)
            filled = stack.put(number, leaf, branch.last, branch.span.rho, grows)
            return log_weight, chosen, filled, filled.turned(self.rule, number, leaf, rho, side.direction)

        def of_fixed_length() -> tuple[Scalar, Flag, Stack, Flag]:
            """The last leaf is proposed, and nobody looks for turns."""
            return weight, weight > -jnp.inf, stack, jnp.asarray(False)

        if self.fixed_steps is None:
            log_weight, chosen, stack, turning = in_tree()
        else:
            log_weight, chosen, stack, turning = jax.lax.cond(self.fixed_steps > 0, of_fixed_length, in_tree)
        usable = (failure == Failure.NONE) | (failure == Failure.ENERGY)
        rate, n_steps = jnp.where(usable, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0), branch.totals.n_steps + 1
        grown = Branch(
            node,
            choose(branch.number == 0, leaf, branch.first),
            leaf,
            Span(
                log_weight,
                rho,
                choose(chosen, node.phase, branch.span.proposal),
                self._by_length(jnp.where(chosen, log_ratio, branch.span.log_ratio), log_ratio),
            ),
            branch.number + 1,
            turning,
            Totals(
                n_steps,
                branch.totals.n_grad + node.phase.n_grad - branch.node.phase.n_grad,
                self._by_length(branch.totals.acceptance + rate, n_steps * rate),
                least,
                most,
                failure,
            ),
        )
        return grown, stack

    def join(self, tree: Tree, side: Side, branch: Branch, key: PRNGKey) -> Tree:
        """The tree with the leaves of a branch, unless that turned around or failed; with the key of what follows."""
        far = choose(side.forward, tree.left, tree.right)
        whole = ~branch.turned & (branch.totals.failure == Failure.NONE)

        # A new half is preferred to the old one: the farther the draw the better, and no less exact.
        surplus = branch.span.log_weight - tree.span.log_weight
        accepted = whole & (-jax.random.exponential(side.accept_key, dtype=surplus.dtype) <= surplus)
        rho = tree.span.rho + branch.span.rho
        far_leaf = self.leaf(far.phase)
        turning = turned(self.rule, far_leaf, branch.last, rho, side.direction)
        if self.rule == "extended":
            near_leaf = self.leaf(choose(side.forward, tree.right, tree.left).phase)
            turning |= turned_at_seam(
                far_leaf, near_leaf, branch.first, branch.last, tree.span.rho, branch.span.rho, side.direction
            )
        span = Span(
            jnp.logaddexp(tree.span.log_weight, branch.span.log_weight),
            rho,
            choose(accepted, branch.span.proposal, tree.span.proposal),
            jnp.where(accepted, branch.span.log_ratio, tree.span.log_ratio),
        )
        span = choose(whole, span, tree.span)
        # Of a trajectory of fixed length, the end's is told, though it was not accepted.
        span = span._replace(log_ratio=self._by_length(span.log_ratio, branch.span.log_ratio))
        return Tree(
            choose(whole & ~side.forward, branch.node, tree.left),
            choose(whole & side.forward, branch.node, tree.right),
            span,
            tree.depth + 1,
            ~whole | turning,
            branch.totals,
            key,
        )

    def _by_length(self, of_tree: Any, of_fixed: Any) -> Any:
        """One of two values: for a tree, or for a trajectory of fixed length."""
        return of_tree if self.fixed_steps is None else jnp.where(self.fixed_steps > 0, of_fixed, of_tree)

    def leaf(self, phase: Phase) -> Leaf:
        """What U-turn rules look at in a phase."""
        momentum = self.dynamics.metric.momentum(phase.point, phase.velocity)
        return self._leaf(phase.point.position, phase.velocity, momentum)

    def _leaf(self, position: Vector, velocity: Vector, momentum: Vector) -> Leaf:
        return Leaf(position if self.rule == "chord" else None, velocity, momentum)


def grow(builder: TreeBuilder, max_depth: int, key: PRNGKey, start: Phase) -> Transition:
    """A leaf of the tree around the start, followed to its end; its depth is at most `max_depth`."""
    level = builder.dynamics.level(start)

    def double(tree: Tree) -> Tree:
        """The tree with as many leaves again, on the side that a coin decides."""
        side, key = Side.toss(tree)
        bare = builder.branch(tree, side)
        branch, _ = jax.lax.while_loop(
            lambda carry: builder.branch_goes_on(carry[0], tree),
            lambda carry: builder.add(*carry, side, level),
            (bare, Stack.empty(builder.rule, max_depth - 1, bare.first)),
        )
        return builder.join(tree, side, branch, key)

    tree = jax.lax.while_loop(builder.goes_on, double, builder.root(key, start))
    return transition(tree, start.point.position)


def transition(tree: Tree, start: Vector) -> Transition:
    """The draw of a tree that has ended, from the position that it began at."""
    chosen, totals = tree.span.proposal, tree.totals
    finished = tree.turned | (totals.failure != Failure.NONE)
    return Transition(
        phase=chosen,
        accepted=(chosen.point.position != start).any(),
        acceptance_rate=totals.acceptance / totals.n_steps,
        failure=totals.failure,
        log_ratio=tree.span.log_ratio,
        log_volume=chosen.log_volume,
        n_steps=totals.n_steps,
        n_grad=totals.n_grad,
        extra={"tree_depth": tree.depth, "reached_max_treedepth": ~finished},
    )


def choose(condition: Flag, left: Any, right: Any) -> Any:
    """One of two pytrees of the same structure."""
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), left, right)
