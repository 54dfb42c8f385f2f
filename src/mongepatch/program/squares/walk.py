"""From a log density back through its program, with the coefficients by which each array enters linearly.

A coefficient is an expression of the same program, with length 1 along axes that it is constant along. Each operation
that is linear has a rule, which says with what coefficients its operands enter. Where a walk meets a form that it
knows, such as a square with a negative coefficient, it takes a block of residuals. All else is left out.
"""

import heapq
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program.squares.algebra import (
    MOVES,
    add,
    compact,
    divide,
    multiply,
    negate,
    ranked,
    summed_to,
)
from mongepatch.program.squares.expression import ELEMENTWISE, Expression, Graph
from mongepatch.program.squares.forms import Block, recognise
from mongepatch.program.squares.loops import blocks_of_loop
from mongepatch.program.squares.signs import is_nan_test, sign


class Walk(NamedTuple):
    """What a walk has found."""

    blocks: list[Block]
    rest: list[tuple[Expression, Expression]]
    """What was left out: arrays that depend on the position, and their coefficients."""
    leading: set[Expression]
    """Arrays on the way to those at which blocks were taken, these included."""


Operands = list[tuple[Expression, Expression]]
"""Arrays and the coefficients by which they enter."""


def walk(
    graph: Graph, result: Expression, coefficient: Expression, leading: Collection[Expression] | None = None
) -> Walk:
    """The residuals in c·result; where `leading` is given, nothing else is looked into."""
    found = Walk([], [], set())
    came_from: dict[Expression, list[Expression]] = {}
    pending = {result: coefficient}
    order = [(-result.number, result)]
    while order:
        _, expression = heapq.heappop(order)
        c = pending.pop(expression, None)
        if c is None or not expression.depends:
            continue
        if leading is not None and expression not in leading:
            found.rest.append((expression, c))
            continue
        operands = _step(graph, expression, c, found)
        for operand, own in operands:
            came_from.setdefault(operand, []).append(expression)
            if operand in pending:
                pending[operand] = add(graph, pending[operand], own)
            else:
                pending[operand] = own
                heapq.heappush(order, (-operand.number, operand))
    ways = list(found.leading)
    while ways:
        before = [way for way in came_from.get(ways.pop(), []) if way not in found.leading]
        found.leading.update(before)
        ways.extend(before)
    return found


def _step(graph: Graph, expression: Expression, c: Expression, found: Walk) -> Operands:
    """Take what is known at one array, and say where to go on."""
    if expression.may_hold_squares and sign(graph, c) != 0:
        blocks = recognise(graph, expression, c, walk)
        if blocks is None and expression.name == "item" and expression.inputs[0].name == "scan":
            loop = blocks_of_loop(graph, expression, c, walk)
            if loop is not None:
                found.blocks.extend(loop.blocks)
                found.rest.extend(loop.rest)
                found.leading.add(expression)
                return loop.operands
        if blocks is not None:
            found.blocks.extend(blocks)
            found.leading.add(expression)
            return []
        rule = _RULES.get(expression.name)
        if expression.inside is not None:
            return [(expression.inside, c)]
        operands = None if rule is None else rule(graph, expression, c)
        if operands is not None:
            return operands
    found.rest.append((expression, c))
    return []


def _fitted(graph: Graph, c: Expression, result: Expression, operand: Expression) -> Expression:
    """A coefficient of an operand that may be one number for all elements of the result."""
    return c if operand.shape == result.shape else summed_to(graph, c, result.shape, operand.shape)


def _sum(graph: Graph, e: Expression, c: Expression) -> Operands:
    return [(operand, _fitted(graph, c, e, operand)) for operand in e.inputs]


def _difference(graph: Graph, e: Expression, c: Expression) -> Operands:
    one, two = e.inputs
    return [(one, _fitted(graph, c, e, one)), (two, _fitted(graph, negate(graph, c), e, two))]


def _negative(graph: Graph, e: Expression, c: Expression) -> Operands:
    return [(e.inputs[0], negate(graph, c))]


def _product(graph: Graph, e: Expression, c: Expression) -> Operands | None:
    factors = _followed(graph, e)
    if factors is None:
        return None
    other, followed = factors
    return [(followed, _fitted(graph, multiply(graph, c, compact(graph, other)), e, followed))]


def _followed(graph: Graph, e: Expression) -> tuple[Expression, Expression] | None:
    """A factor of known sign, and the other one, in which squares are looked for: sums of them rather than one."""
    one, two = e.inputs
    choices = [
        (other, followed)
        for other, followed in ((one, two), (two, one))
        if followed.depends and followed.may_hold_squares and sign(graph, other) != 0
    ]
    return min(choices, key=lambda choice: choice[1].name == "square" and choice[1].size == 1, default=None)


def _quotient(graph: Graph, e: Expression, c: Expression) -> Operands | None:
    one, two = e.inputs
    return [(one, _fitted(graph, divide(graph, c, compact(graph, two)), e, one))]


def _reduced(graph: Graph, e: Expression, c: Expression) -> Operands:
    (operand,) = e.inputs
    if c.shape == ():
        return [(operand, c)]
    shape = list(c.shape)
    for axis in sorted(e.params["axes"]):
        shape.insert(axis, 1)
    return [(operand, graph.reshape(c, shape))]


def _reshaped(graph: Graph, e: Expression, c: Expression) -> Operands:
    (operand,) = e.inputs
    if c.size == 1:
        return [(operand, graph.reshape(c, ()))]
    return [(operand, graph.reshape(_whole(graph, c, e), operand.shape))]


def _whole(graph: Graph, c: Expression, e: Expression) -> Expression:
    """A coefficient with as many elements as its array."""
    if c.shape == e.shape:
        return c
    shape = e.shape
    return graph.make("broadcast_to", [c], shape, lambda value: jnp.broadcast_to(value, shape))


def _broadcast(graph: Graph, e: Expression, c: Expression) -> Operands:
    (operand,) = e.inputs
    kept, shape = e.params["broadcast_dimensions"], [1] * len(e.shape)
    for axis, size in zip(kept, operand.shape, strict=True):
        shape[axis] = size
    total = summed_to(graph, ranked(graph, c, len(e.shape)), e.shape, shape)
    own = [total.shape[axis] for axis in kept]
    return [(operand, graph.reshape(total, own))]


def _transposed(graph: Graph, e: Expression, c: Expression) -> Operands:
    (operand,) = e.inputs
    if c.size == 1:
        return [(operand, graph.reshape(c, ()))]
    back = tuple(np.argsort(e.params["permutation"]).tolist())
    shape = [c.shape[axis] for axis in back]
    return [(operand, graph.make("transpose", [c], shape, lambda v: jnp.transpose(v, back), permutation=back))]


def _concatenated(graph: Graph, e: Expression, c: Expression) -> Operands:
    axis, start, operands = e.params["dimension"], 0, []
    for operand in e.inputs:
        stop = start + operand.shape[axis]
        own = c
        if c.shape and c.shape[axis] > 1:
            own = _cut(graph, c, axis, start, stop)
        operands.append((operand, own))
        start = stop
    return operands


def _stacked(graph: Graph, e: Expression, c: Expression) -> Operands:
    axis, operands = e.params["axis"], []
    for number, operand in enumerate(e.inputs):
        own = c
        if c.shape:
            own = _cut(graph, c, axis, number, number + 1) if c.shape[axis] > 1 else c
            own = graph.reshape(own, own.shape[:axis] + own.shape[axis + 1 :])
        operands.append((operand, own))
    return operands


def _cut(graph: Graph, c: Expression, axis: int, start: int, stop: int) -> Expression:
    lows = tuple(start if i == axis else 0 for i in range(len(c.shape)))
    highs = tuple(stop if i == axis else n for i, n in enumerate(c.shape))
    places = tuple(map(slice, lows, highs))
    shape = [high - low for low, high in zip(lows, highs, strict=True)]
    return graph.make("slice", [c], shape, lambda value: value[places], start_indices=lows, limit_indices=highs)


def _moved(graph: Graph, e: Expression, c: Expression) -> Operands | None:
    """Some elements of an array: what made the array is done to those elements alone."""
    operand, *places = e.inputs
    if operand.name not in ELEMENTWISE or any(place.depends for place in places) or e.compute is None:
        return None
    compute, inner = e.compute, operand.compute
    inputs = [
        given if given.shape == () else graph.make(e.name, [given, *places], e.shape, compute, given.dtype, **e.params)
        for given in operand.inputs
    ]
    return [(graph.make(operand.name, inputs, e.shape, inner, operand.dtype, **operand.params), c)]


def _choice(graph: Graph, e: Expression, c: Expression) -> Operands | None:
    condition, *cases = e.inputs
    if is_nan_test(condition):
        return [(cases[0], c)]
    if condition.depends:  # bounds of a density's support; at other choices residuals would jump
        inside = [case for case in cases if case.depends or not _is_minus_infinity(graph, case)]
        return [(inside[0], c)] if len(inside) == 1 else None
    zero = graph.constant(np.asarray(0.0, c.dtype))
    operands = []
    for number, case in enumerate(cases):
        if case.depends:
            parts = [c if place == number else zero for place in range(len(cases))]
            shape = np.broadcast_shapes(condition.shape, c.shape)
            own = graph.make("select_n", [condition, *parts], shape, _select, c.dtype)
            operands.append((case, own))
    return operands


def _select(condition: Any, *cases: Any) -> Any:
    chosen = cases[0]
    for number, case in enumerate(cases[1:], 1):
        chosen = jnp.where(condition == number, case, chosen)
    return chosen


def _is_minus_infinity(graph: Graph, case: Expression) -> bool:
    values = graph.numbers(case)
    return values is not None and bool((values == -np.inf).all())


def _converted(graph: Graph, e: Expression, c: Expression) -> Operands | None:
    (operand,) = e.inputs
    if not jnp.issubdtype(operand.dtype, jnp.floating):
        return None
    return [(operand, c)]


def _weighted_sum(graph: Graph, e: Expression, c: Expression) -> Operands | None:
    """A product of matrices or vectors, one of which has squares: c times the other one, transposed."""
    followed = _followed(graph, e)
    if followed is None:
        return None
    other, operand = followed
    first = operand is e.inputs[0]
    compute = e.compute
    assert compute is not None
    whole = _whole(graph, ranked(graph, c, len(e.shape)), e)
    zeros = operand.shape, operand.dtype

    def transpose(c: Any, other: Any) -> Any:
        def forward(operand: Any) -> Any:
            return compute(*((operand, other) if first else (other, operand)))

        (back,) = jax.linear_transpose(forward, jnp.zeros(*zeros))(c)
        return back

    own = graph.make("dot_general", [whole, other], operand.shape, transpose, operand.dtype, transposed=e.number)
    return [(operand, own)]


_RULES: dict[str, Callable[[Graph, Expression, Expression], Operands | None]] = {
    "add": _sum,
    "sub": _difference,
    "neg": _negative,
    "mul": _product,
    "div": _quotient,
    "reduce_sum": _reduced,
    "reshape": _reshaped,
    "broadcast_in_dim": _broadcast,
    "transpose": _transposed,
    "concatenate": _concatenated,
    "stack": _stacked,
    "select_n": _choice,
    "convert_element_type": _converted,
    "dot_general": _weighted_sum,
    **dict.fromkeys(sorted(MOVES - {"reshape", "broadcast_in_dim", "transpose"}), _moved),
}
"""How coefficients pass through each operation."""
