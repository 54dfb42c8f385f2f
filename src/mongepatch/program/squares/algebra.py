"""New expressions from old ones: products, quotients, sums and square roots, simplified as they are made."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from mongepatch.program.squares.expression import ELEMENTWISE, Expression, Graph
from mongepatch.program.squares.signs import sign

MOVES = frozenset(["reshape", "broadcast_in_dim", "transpose", "slice", "gather", "dynamic_slice", "rev"])
"""Operations that put elements in other places, and change none."""


def multiply(graph: Graph, one: Expression, two: Expression) -> Expression:
    """a·b."""
    for a, b in ((one, two), (two, one)):
        if _is_number(graph, a, 1.0) and _covers(b, a):
            return b
        if _is_number(graph, a, -1.0) and _covers(b, a):
            return negate(graph, b)
    if (product := _numbers(graph, np.multiply, one, two)) is not None:
        return product
    for a, b in ((one, two), (two, one)):  # numbers in front
        if a.shape == () and not a.depends and b.name == "mul" and not b.inputs[0].depends and b.inputs[0].shape == ():
            return multiply(graph, multiply(graph, a, b.inputs[0]), b.inputs[1])
        if a.shape == () and not a.depends and b.name == "div" and not b.inputs[0].depends:
            return divide(graph, multiply(graph, a, b.inputs[0]), b.inputs[1])
    if two.name == "div" and _is_number(graph, two.inputs[0], 1.0):
        return divide(graph, one, two.inputs[1])
    if one.name == "div" and _is_number(graph, one.inputs[0], 1.0):
        return divide(graph, two, one.inputs[1])
    first, second = (two, one) if one.depends and not two.depends else (one, two)
    return _elementwise(graph, "mul", jnp.multiply, first, second)


def divide(graph: Graph, one: Expression, two: Expression) -> Expression:
    """a/b."""
    if _is_number(graph, two, 1.0) and _covers(one, two):
        return one
    if (quotient := _numbers(graph, np.divide, one, two)) is not None:
        return quotient
    return _elementwise(graph, "div", jnp.divide, one, two)


def add(graph: Graph, one: Expression, two: Expression) -> Expression:
    """A + b."""
    if (total := _numbers(graph, np.add, one, two)) is not None:
        return total
    return _elementwise(graph, "add", jnp.add, one, two)


def negate(graph: Graph, one: Expression) -> Expression:
    """−a, with the sign put where a number is."""
    if one.name == "neg":
        return one.inputs[0]
    if (value := graph.numbers(one)) is not None:
        return graph.constant(-value)
    if one.name in ("mul", "div") and (number := next((n for n in one.inputs if not n.depends), None)) is not None:
        others = [negate(graph, given) if given is number else given for given in one.inputs]
        return (multiply if one.name == "mul" else divide)(graph, *others)
    if one.name in ("mul", "div"):
        return (multiply if one.name == "mul" else divide)(graph, negate(graph, one.inputs[0]), one.inputs[1])
    return graph.make("neg", [one], one.shape, jnp.negative)


def function(graph: Graph, name: str, compute: Callable[..., Any], one: Expression) -> Expression:
    """A function of every element."""
    return graph.make(name, [one], one.shape, compute)


def root(graph: Graph, one: Expression) -> Expression:
    """An expression whose square is this one, which is at least 0: smooth, and without a root where there is a way."""
    value = graph.numbers(one)
    if value is not None:
        return graph.constant(np.sqrt(value))
    if one.name in ("mul", "div"):
        signs = [sign(graph, given) for given in one.inputs]
        parts = [negate(graph, given) if of == -1 else given for given, of in zip(one.inputs, signs, strict=True)]
        return (multiply if one.name == "mul" else divide)(graph, *(root(graph, part) for part in parts))
    if one.name == "square":
        return one.inputs[0]
    if one.name == "integer_pow" and one.params["y"] % 2 == 0:
        power = one.params["y"] // 2
        if power == -1:
            return divide(graph, graph.constant(np.asarray(1.0, one.dtype)), one.inputs[0])
        return graph.make("integer_pow", one.inputs, one.shape, lambda value: value**power, y=power)
    if one.name == "exp":
        half = graph.constant(np.asarray(0.5, one.dtype))
        return function(graph, "exp", jnp.exp, multiply(graph, half, one.inputs[0]))
    if one.name == "select_n":
        condition, *cases = one.inputs
        roots = [root(graph, case) for case in cases]
        return graph.make("select_n", [condition, *roots], one.shape, one.compute, one.dtype)
    if one.name in MOVES:
        moved = root(graph, one.inputs[0])
        return graph.make(one.name, [moved, *one.inputs[1:]], one.shape, one.compute, **one.params)
    return function(graph, "sqrt", jnp.sqrt, one)


def compact(graph: Graph, one: Expression) -> Expression:
    """The same with length 1 along axes that it is known to be constant along."""
    if one not in graph.compacted:
        graph.compacted[one] = _compact(graph, one)
    return graph.compacted[one]


def _compact(graph: Graph, one: Expression) -> Expression:
    if one.shape == ():
        return one
    if one.name == "broadcast_in_dim":
        small, lengths = compact(graph, one.inputs[0]), [1] * len(one.shape)
        for axis, size in zip(one.params["broadcast_dimensions"], small.shape, strict=True):
            lengths[axis] = size
        return graph.reshape(small, lengths)
    if one.name == "reshape" and compact(graph, one.inputs[0]).size == 1:
        return graph.reshape(compact(graph, one.inputs[0]), (1,) * len(one.shape))
    if one.name not in ELEMENTWISE:
        return one
    inputs = [compact(graph, given) for given in one.inputs]
    shape = np.broadcast_shapes(*(given.shape for given in inputs))
    if shape == one.shape or one.compute is None:
        return one
    compute = one.compute
    return graph.make(
        one.name, inputs, shape, lambda *values: compute(*jnp.broadcast_arrays(*values)), one.dtype, **one.params
    )


def summed_to(graph: Graph, one: Expression, full: Sequence[int], shape: Sequence[int]) -> Expression:
    """The sum of a coefficient that stands for an array of shape `full`, down to one of length 1 along some axes."""
    full, shape = tuple(full), tuple(shape)
    axes = tuple(range(len(full))) if shape == () else tuple(i for i, n in enumerate(shape) if n == 1 < full[i])
    own = one.shape if one.shape else (1,) * len(full)
    copies = int(np.prod([full[axis] for axis in axes if own[axis] == 1], dtype=int))
    along = tuple(axis for axis in axes if own[axis] > 1)
    if along and one.shape:
        kept = [1 if axis in along else n for axis, n in enumerate(own)]
        one = graph.make(
            "reduce_sum", [one], kept, lambda value: jnp.sum(value, along, keepdims=True), axes=along, keepdims=True
        )
    if shape == () and one.shape:
        one = graph.reshape(one, ())
    return multiply(graph, graph.constant(np.asarray(float(copies), one.dtype)), one)


def ranked(graph: Graph, one: Expression, rank: int) -> Expression:
    """A coefficient of one number with so many axes of length 1."""
    return graph.reshape(one, (1,) * rank) if one.shape == () and rank else one


def _elementwise(graph: Graph, name: str, compute: Callable[..., Any], *inputs: Expression) -> Expression:
    return graph.make(name, inputs, np.broadcast_shapes(*(given.shape for given in inputs)), compute)


def _covers(large: Expression, small: Expression) -> bool:
    return np.broadcast_shapes(large.shape, small.shape) == large.shape


def _is_number(graph: Graph, one: Expression, number: float) -> bool:
    return not one.depends and one.size == 1 and (value := graph.numbers(one)) is not None and value.item() == number


def _numbers(graph: Graph, compute: Callable[..., Any], *inputs: Expression) -> Expression | None:
    """The result as a constant, where all inputs are."""
    if any(given.depends for given in inputs):
        return None
    values = [graph.numbers(given) for given in inputs]
    if any(value is None for value in values):
        return None
    dtype = np.result_type(*(given.dtype for given in inputs))
    return graph.constant(np.asarray(compute(*values), dtype))
