"""Squares inside a loop of known length: those that are added up from turn to turn, and those of every turn."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program.squares.expression import Expression, Graph, evaluate, reached
from mongepatch.program.squares.forms import Block
from mongepatch.program.squares.signs import sign


class Loop(NamedTuple):
    """What is found in a loop."""

    blocks: list[Block]
    rest: list[tuple[Expression, Expression]]
    operands: list[tuple[Expression, Expression]]
    """The first value of a sum, which enters as the last one does."""


def blocks_of_loop(
    graph: Graph, result: Expression, c: Expression, walk: Callable[[Graph, Expression, Expression], Any]
) -> Loop | None:
    """The blocks in c·result of one result of a `scan`; None where it is neither a sum nor put together of turns."""
    loop = result.inputs[0]
    parts = _parts(loop)
    number, carries = result.params["item"], parts.carries
    inside = Graph()
    inputs = [inside.input(given.shape, given.dtype) for given in loop.inputs[: parts.consts + carries]]
    inputs += [inside.input(given.shape[1:], given.dtype) for given in loop.inputs[parts.consts + carries :]]
    results = inside.call(loop.params["jaxpr"], inputs)
    is_sum = number < carries
    whole = not is_sum and c.shape and c.shape[0] > 1
    own = inside.input(c.shape[1:] if c.shape and not is_sum else c.shape, c.dtype, sign(graph, c))
    found = walk(inside, results[number], own)
    operands = []
    rest = found.rest
    if is_sum:
        before = inputs[parts.consts + number]
        entering = [factor for e, factor in rest if e is before]
        others = [e for e, _ in rest if e is not before]
        if entering != [own] or before in reached(others + [block.residual for block in found.blocks]):
            return None  # it is more than a sum
        rest = [(e, factor) for e, factor in rest if e is not before]
        operands = [(loop.inputs[parts.consts + number], c)]
    if not found.blocks:
        return None
    by_turn = _collected(graph, loop, parts, inputs, results, own, c if whole or is_sum else _first(graph, c), whole)
    blocks = [Block(by_turn(block.residual), by_turn(block.term)) for block in found.blocks]
    outside = [(by_turn(_product(inside, e, factor)), graph.constant(np.asarray(1.0))) for e, factor in rest]
    return Loop(blocks, outside, operands)


def _product(graph: Graph, e: Expression, factor: Expression) -> Expression:
    """What was left out in a turn, times its coefficient."""
    return graph.make("mul", [factor, e], np.broadcast_shapes(factor.shape, e.shape), jnp.multiply, e.dtype)


class _Parts(NamedTuple):
    consts: int
    carries: int
    length: int
    reverse: bool


def _parts(loop: Expression) -> _Parts:
    """How many of a loop's arguments every turn sees, and how many go from turn to turn."""
    params = loop.params
    return _Parts(params["num_consts"], params["num_carry"], params["length"], params["reverse"])


def _first(graph: Graph, c: Expression) -> Expression:
    """A coefficient that is the same in every turn, as one turn sees it."""
    return graph.reshape(c, c.shape[1:]) if c.shape else c


def _collected(
    graph: Graph,
    loop: Expression,
    parts: _Parts,
    inputs: list[Expression],
    results: list[Expression],
    own: Expression,
    c: Expression,
    whole: Any,
) -> Callable[[Expression], Expression]:
    """Arrays of a turn as arrays of all turns: the same loop, which keeps them."""

    def collected(wanted: Expression) -> Expression:
        def compute(*values: Any) -> Any:
            *given, coefficient = values
            consts = given[: parts.consts]
            carry = tuple(given[parts.consts : parts.consts + parts.carries])
            sliced = tuple(given[parts.consts + parts.carries :])

            def turn(carry: Any, per_turn: Any) -> Any:
                sliced, by = per_turn if whole else (per_turn, coefficient)
                known = dict(zip(inputs, [*consts, *carry, *sliced], strict=True)) | {own: by}
                *after, kept = evaluate([*results[: parts.carries], wanted], known)
                return tuple(jnp.asarray(new, old.dtype) for new, old in zip(after, carry, strict=True)), kept

            carry = tuple(map(jnp.asarray, carry))
            turns = (sliced, coefficient) if whole else sliced
            return jax.lax.scan(turn, carry, turns, parts.length, parts.reverse)[1]

        return graph.make(
            "turns",
            [*loop.inputs, c],
            (parts.length, *wanted.shape),
            compute,
            wanted.dtype,
            loop=loop.number,
            of=wanted,
        )

    return collected
