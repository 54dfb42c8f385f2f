"""A⁻¹b + F⁻ᵀz and log det A of a symmetric A, with a derivative in reverse that goes through the levels once.

Differentiated operation by operation, a level would be many more loops of compiled code. By hand there are few: with g
the change of a function by x = A⁻¹b + F⁻ᵀz, and v = A⁻¹g, a level with pivots d and L = A_RI d⁻¹ has

    z̄ = d^(−½) g,   b̄ = v = d⁻¹g − Lᵀv_R,   Ā_RI = −(X + Xᵀ)L − d⁻¹(x_R g + v_R b),

where X is what the function changes by S, the matrix that the level leaves.
"""

from typing import Any, NamedTuple

import jax

from mongepatch._typing import AnyVector, Scalar, Vector
from mongepatch.sparse.elimination import Elimination, Factored
from mongepatch.sparse.level import EliminationLevel, FirstParts, LevelFactors


class _Level(NamedTuple):
    """Vectors of one level, and what it leaves. A pytree."""

    right: AnyVector
    """b."""
    noise: AnyVector
    """z."""
    solution: AnyVector
    """x."""
    rest: AnyVector
    """x_R."""


class _Saved(NamedTuple):
    """What the derivative needs. A pytree."""

    parts: FirstParts
    factored: Factored
    entries: AnyVector
    """Of the core."""
    right: AnyVector
    noise: AnyVector
    """b and z of the core."""
    levels: tuple[_Level, ...]


def draw_with_log_det(
    elimination: Elimination, parts: FirstParts, vector: Vector, noise: Vector
) -> tuple[Vector, Scalar]:
    """A⁻¹b + F⁻ᵀz with A = FFᵀ, and log det A, for gradients. There is no derivative forwards, but one of gradients.

    Args:
        elimination: of A, with a level at least.
        parts: A, by `parts_of_sum` or `parts_of_rows`.
        vector: b.
        noise: z.
    """

    @jax.custom_vjp
    def drawn(parts: FirstParts, vector: Vector, noise: Vector) -> tuple[Vector, Scalar]:
        return forward(parts, vector, noise)[0]

    def forward(parts: FirstParts, vector: Vector, noise: Vector) -> tuple[tuple[Vector, Scalar], _Saved]:
        return _forward(elimination, parts, vector, noise)

    def backward(saved: _Saved, changes: tuple[Vector, Scalar]) -> tuple[FirstParts, Vector, Vector]:
        return _backward(elimination, saved, *changes)

    drawn.defvjp(forward, backward)
    return drawn(parts, vector, noise)


def _forward(
    elimination: Elimination, parts: FirstParts, vector: Vector, noise: Vector
) -> tuple[tuple[Vector, Scalar], _Saved]:
    factored, entries = elimination.factor_parts(parts)
    vector, noise, own = elimination.order(vector), elimination.order(noise), []
    for level, factors in zip(elimination.levels, factored.levels, strict=True):
        right, vector = level.forward(factors, vector)
        z, noise = level.divided(noise)
        own.append((right, z))
    solved = vector if factored.core is None else factored.core.draw(vector, noise)
    saved: list[_Level] = []
    for level, factors, (right, z) in reversed(list(zip(elimination.levels, factored.levels, own, strict=True))):
        solution = (right * factors.scale + z) * factors.scale - level.beside(factors, solved)
        saved.insert(0, _Level(right, z, solution, solved))
        solved = level.joined(solution, solved)
    result = elimination.order.inverse(solved), elimination.log_det(factored)
    return result, _Saved(parts, factored, entries, vector, noise, tuple(saved))


def _backward(
    elimination: Elimination, saved: _Saved, by_solution: Vector, by_log_det: Scalar
) -> tuple[FirstParts, Vector, Vector]:
    factored, change, own = saved.factored, elimination.order(by_solution), []
    for level, factors in zip(elimination.levels, factored.levels, strict=True):
        mine, change = level.forward(factors, change)
        own.append(mine)
    doubled, right, noise = _core(elimination, saved, change, by_log_det)
    by_parts: Any = None
    for number in reversed(range(len(elimination.levels))):
        level, factors, change = elimination.levels[number], factored.levels[number], own[number]
        solved = change * factors.scale * factors.scale - level.beside(factors, right)
        at = saved.levels[number]
        outer = level.of_pivots(change) * level.neighbours(at.rest) + level.of_pivots(at.right) * level.neighbours(
            right
        )
        products = change * (at.right * factors.scale + 0.5 * at.noise) * factors.scale
        by_log_pivot = products - change * at.solution - at.right * solved + by_log_det
        if number == 0:
            by_parts = _by_parts(level, factors, saved.parts, outer, by_log_pivot, doubled)
        else:
            beside, by_pivots = _by_entries(level, factors, outer, by_log_pivot, doubled)
            doubled = level.joined_entries(2.0 * by_pivots, beside, doubled)
        right, noise = level.joined(solved, right), level.joined(change * factors.scale, noise)
    return by_parts, elimination.order.inverse(right), elimination.order.inverse(noise)


def _core(
    elimination: Elimination, saved: _Saved, change: AnyVector, by_log_det: Scalar
) -> tuple[AnyVector, AnyVector, AnyVector]:
    """X + Xᵀ by the entries of the core, and what changes by its b and z."""
    core = saved.factored.core
    if core is None:
        return saved.entries, change, change
    by_root = core.pull(saved.right, saved.noise, change, by_log_det)
    return elimination.of_core(by_root.doubled), by_root.right, by_root.noise


def _by_entries(
    level: EliminationLevel, factors: LevelFactors, outer: AnyVector, by_log_pivot: AnyVector, doubled: AnyVector
) -> tuple[AnyVector, AnyVector]:
    """By what is beside the pivots, and by these."""
    crossed = level.crossed(factors.lower, doubled)
    scale = level.of_pivots(factors.scale)
    by_pivots = 0.5 * level.summed(factors.lower, crossed) + by_log_pivot * factors.scale * factors.scale
    return -crossed - outer * scale * scale, by_pivots


def _by_parts(
    level: EliminationLevel,
    factors: LevelFactors,
    parts: FirstParts,
    outer: AnyVector,
    by_log_pivot: AnyVector,
    doubled: AnyVector,
) -> FirstParts:
    kept = level.kept_cotangent(doubled)
    if parts.own is None:
        beside, by_pivots = _by_entries(level, factors, outer, by_log_pivot, doubled)
        return FirstParts(by_pivots, beside, kept, None)
    # Of d = b² + a and A_RI = bc, of which S = c(a/d)cᵀ remains. By b that is −2bc(a/d²)cᵀ: the sum of what d and bc
    # change would be a difference of terms that are larger by d/a, of which single precision keeps nothing.
    crossed, scale = level.crossed(parts.beside, doubled), level.of_pivots(factors.scale)
    share, kept_share = (part * factors.scale * factors.scale for part in (parts.own, parts.pivots))
    by_rest = level.summed(parts.beside, crossed)
    by_pivots = by_log_pivot * factors.scale * factors.scale
    by_own = 2.0 * parts.own * by_pivots - level.summed(parts.beside, outer * scale * scale)
    by_beside = level.of_pivots(kept_share) * crossed - level.of_pivots(share) * outer
    return FirstParts(by_pivots + 0.5 * share * share * by_rest, by_beside, kept, by_own - share * kept_share * by_rest)
