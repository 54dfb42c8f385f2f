"""The No-U-Turn sampler on any metric and integrator.

The orbit through the start is followed both ways in time, doubling until it turns around, and the draw is one of its
leaves, with probability in proportion to its weight exp(−E + log-volume). An orbit looks the same from each of its
leaves, which is what makes the draw exact; a change of volume along it is a part of the weight.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp

from mongepatch._typing import Count, Flag, PRNGKey, Scalar, ScalarLike, Vector
from mongepatch.errors import SettingError
from mongepatch.integrators import Failure, Phase
from mongepatch.trajectories.base import Dynamics, Level, Transition, classify
from mongepatch.trajectories.uturn import Leaf, Rule, Stack, turned, turned_at_seam
from mongepatch.validation import whole_number


class _Span(NamedTuple):
    """A stretch of the orbit: what is kept of its leaves."""

    log_weight: Scalar
    """Log of the sum of the leaves' weights, the start's being 1."""
    rho: Vector
    """Sum of the leaves' momenta."""
    proposal: Phase
    """A leaf, drawn by weight."""
    log_ratio: Scalar
    """Log of the proposal's weight."""


class _Totals(NamedTuple):
    """What has been spent, and met, in all of the tree."""

    n_steps: Count
    n_grad: Count
    acceptance: Scalar
    """Sum of min(1, weight) over the leaves."""
    least: Scalar
    """Log of the least weight of all leaves, the start's being 0."""
    most: Scalar
    """Log of the largest."""
    failure: Count


class _Branch(NamedTuple):
    """A sub-tree that grows leaf by leaf from an edge of the tree."""

    node: Any
    """The integrator's node at the last leaf."""
    first: Leaf
    last: Leaf
    span: _Span
    stack: Stack
    number: Count
    """Leaves so far."""
    turned: Flag
    totals: _Totals


class _Tree(NamedTuple):
    left: Any
    """The integrator's node at the earliest leaf."""
    right: Any
    """At the latest."""
    span: _Span
    depth: Count
    turned: Flag
    totals: _Totals
    key: PRNGKey


@jax.tree_util.register_static
@dataclass(frozen=True)
class NUTS:
    """A trajectory that goes on until it turns around.

    Args:
        max_depth: at most 2^max_depth − 1 steps a draw.
        u_turn: when a stretch has turned around. "generalized": the velocity at an end against the sum of momenta,
            v·ρ ≤ 0, on all balanced sub-trees; "trapezoid": with the end leaves counted half, as BlackJAX and NumPyro
            do; "extended": also across the seam of their halves, as Stan does; "chord": the straight line between the
            ends against the momenta.

    Example:
        >>> trajectory = mp.NUTS(max_depth=8)
    """

    max_depth: int = 10
    u_turn: Rule = "trapezoid"

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_depth", whole_number("max_depth", self.max_depth))
        if self.max_depth > 20:
            raise SettingError(f"max_depth must be at most 20, a million steps; it is {self.max_depth}.")
        if self.u_turn not in get_args(Rule):
            raise SettingError(f"u_turn must be one of {get_args(Rule)}; it is {self.u_turn!r}.")

    def propose(
        self, key: PRNGKey, length_key: PRNGKey, dynamics: Dynamics, start: Phase, divergence_threshold: ScalarLike
    ) -> Transition:
        """A leaf of the tree around the start."""
        level = dynamics.level(start)
        left, right = dynamics.depart(start, -1), dynamics.depart(start, 1)
        zero, dtype = jnp.int32(0), start.velocity.dtype
        tree = _Tree(
            left,
            right,
            _Span(jnp.zeros((), dtype), _leaf(dynamics, start).momentum, start, jnp.zeros((), dtype)),
            zero,
            jnp.asarray(False),
            _Totals(zero, self._departure(dynamics, right.phase), *3 * (jnp.zeros((), dtype),), start.failure),
            key,
        )

        def goes_on(tree: _Tree) -> Flag:
            return (tree.depth < self.max_depth) & ~tree.turned & (tree.totals.failure == Failure.NONE)

        tree = jax.lax.while_loop(goes_on, lambda tree: self._double(tree, dynamics, level, divergence_threshold), tree)
        chosen, totals = tree.span.proposal, tree.totals
        finished = tree.turned | (totals.failure != Failure.NONE)
        return Transition(
            phase=chosen,
            accepted=(chosen.point.position != start.point.position).any(),
            acceptance_rate=totals.acceptance / totals.n_steps,
            failure=totals.failure,
            log_ratio=tree.span.log_ratio,
            log_volume=chosen.log_volume,
            n_steps=totals.n_steps,
            n_grad=totals.n_grad,
            extra={"tree_depth": tree.depth, "reached_max_treedepth": ~finished},
        )

    def _departure(self, dynamics: Dynamics, phase: Phase) -> Count:
        """What leaving both ways has cost: the slope is computed once, and the bends that a kick makes twice."""
        cost = dynamics.metric.cost(phase.velocity.size)
        return phase.n_grad + jnp.minimum(phase.n_grad, cost.volume_bends * cost.bend)

    def _double(self, tree: _Tree, dynamics: Dynamics, start: Level, divergence_threshold: ScalarLike) -> _Tree:
        """The tree with as many leaves again, on the side that a coin decides."""
        key, way_key, branch_key, accept_key = jax.random.split(tree.key, 4)
        forward = jax.random.bernoulli(way_key)
        direction = jnp.where(forward, 1, -1).astype(tree.span.log_weight.dtype)
        near, far = _choose(forward, tree.right, tree.left), _choose(forward, tree.left, tree.right)
        branch = self._grow(branch_key, near, tree, direction, dynamics, start, divergence_threshold)
        whole = ~branch.turned & (branch.totals.failure == Failure.NONE)

        # A new half is preferred to the old one: the farther the draw the better, and no less exact.
        surplus = branch.span.log_weight - tree.span.log_weight
        accepted = whole & (-jax.random.exponential(accept_key, dtype=surplus.dtype) <= surplus)
        rho = tree.span.rho + branch.span.rho
        far_leaf, near_leaf = _leaf(dynamics, far.phase), _leaf(dynamics, near.phase)
        turning = turned(self.u_turn, far_leaf, branch.last, rho, direction)
        if self.u_turn == "extended":
            turning |= turned_at_seam(
                far_leaf, near_leaf, branch.first, branch.last, tree.span.rho, branch.span.rho, direction
            )
        span = _Span(
            jnp.logaddexp(tree.span.log_weight, branch.span.log_weight),
            rho,
            _choose(accepted, branch.span.proposal, tree.span.proposal),
            jnp.where(accepted, branch.span.log_ratio, tree.span.log_ratio),
        )
        return _Tree(
            _choose(whole & ~forward, branch.node, tree.left),
            _choose(whole & forward, branch.node, tree.right),
            _choose(whole, span, tree.span),
            tree.depth + 1,
            ~whole | turning,
            branch.totals,
            key,
        )

    def _grow(
        self,
        key: PRNGKey,
        edge: Any,
        tree: _Tree,
        direction: Scalar,
        dynamics: Dynamics,
        start: Level,
        divergence_threshold: ScalarLike,
    ) -> _Branch:
        """A branch of as many leaves as the tree has, or fewer where it turns around or fails."""
        leaf = _leaf(dynamics, edge.phase)
        nothing = _Span(
            jnp.full_like(tree.span.log_weight, -jnp.inf),
            jnp.zeros_like(leaf.momentum),
            edge.phase,
            tree.span.log_ratio,
        )
        stack = Stack.empty(self.u_turn, self.max_depth, leaf)
        bare = _Branch(edge, leaf, leaf, nothing, stack, jnp.int32(0), jnp.asarray(False), tree.totals)

        def add(branch: _Branch) -> _Branch:
            node = dynamics.advance(branch.node, direction)
            leaf = _leaf(dynamics, node.phase)
            log_ratio = dynamics.level(node.phase).log_ratio(start)
            # A tree is given up by the spread of its weights, which is the same from whichever leaf it was begun.
            least, most = jnp.minimum(branch.totals.least, log_ratio), jnp.maximum(branch.totals.most, log_ratio)
            failure = classify(log_ratio, node.phase, most - least > divergence_threshold)
            weight = jnp.where(failure == Failure.NONE, log_ratio, -jnp.inf)
            log_weight = jnp.logaddexp(branch.span.log_weight, weight)
            log_uniform = -jax.random.exponential(jax.random.fold_in(key, branch.number), dtype=weight.dtype)
            chosen = log_uniform <= weight - log_weight
            rho = branch.span.rho + leaf.momentum
            stack = branch.stack.put(branch.number, leaf, branch.last, branch.span.rho)
            usable = (failure == Failure.NONE) | (failure == Failure.ENERGY)
            return _Branch(
                node,
                _choose(branch.number == 0, leaf, branch.first),
                leaf,
                _Span(
                    log_weight,
                    rho,
                    _choose(chosen, node.phase, branch.span.proposal),
                    jnp.where(chosen, log_ratio, branch.span.log_ratio),
                ),
                stack,
                branch.number + 1,
                stack.turned(self.u_turn, branch.number, leaf, rho, direction),
                _Totals(
                    branch.totals.n_steps + 1,
                    branch.totals.n_grad + node.phase.n_grad - branch.node.phase.n_grad,
                    branch.totals.acceptance + jnp.where(usable, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0),
                    least,
                    most,
                    failure,
                ),
            )

        def goes_on(branch: _Branch) -> Flag:
            full = branch.number >= jnp.left_shift(1, tree.depth)
            return ~full & ~branch.turned & (branch.totals.failure == Failure.NONE)

        return jax.lax.while_loop(goes_on, add, bare)


def _leaf(dynamics: Dynamics, phase: Phase) -> Leaf:
    return Leaf(phase.point.position, phase.velocity, dynamics.metric.momentum(phase.point, phase.velocity))


def _choose(condition: Flag, left: Any, right: Any) -> Any:
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), left, right)
