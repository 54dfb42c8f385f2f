"""Forms that residuals are read off: squares, quadratic forms, and Student's t."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program.squares.algebra import (
    add,
    compact,
    divide,
    function,
    multiply,
    negate,
    ranked,
    root,
    summed_to,
)
from mongepatch.program.squares.expression import Expression, Graph, evaluate, reached
from mongepatch.program.squares.signs import sign

_MOST_ROWS = 500
"""Rows of a constant matrix up to which its factor is computed."""


@dataclass(frozen=True)
class Block:
    """An array of residuals r: the term of the log density that it stands for is −½ Σ r², or has its information."""

    residual: Expression
    term: Expression
    """The part of the log density, before it is summed."""
    weight: Expression | None = None
    """w, where r is √w·u with one number w."""
    unscaled: Expression | None = None
    """u, likewise."""


Walker = Callable[[Graph, Expression, Expression], Any]


def recognise(graph: Graph, e: Expression, c: Expression, walk: Walker) -> list[Block] | None:
    """The blocks in c·e if it is of a form that is known; else None."""
    form = _FORMS.get(e.name)
    return None if form is None else form(graph, e, c, walk)


def _number(graph: Graph, value: float, like: Expression) -> Expression:
    return graph.constant(np.asarray(value, like.dtype))


def block_of(graph: Graph, u: Expression, c: Expression) -> Block:
    """The residuals √(−2c)·u of a term c·u²."""
    small = compact(graph, u)
    if small.shape != u.shape:
        c, u = summed_to(graph, ranked(graph, c, len(u.shape)), u.shape, small.shape), small
    weight = multiply(graph, _number(graph, -2.0, c), c)
    half = _number(graph, -0.5, c)
    while u.name == "neg":
        u = u.inputs[0]
    residual = multiply(graph, root(graph, weight), u)
    term = multiply(graph, half, graph.square(residual))
    if weight.size != 1:
        return Block(residual, term)
    w, rest = _without_scale(graph, u)
    return Block(residual, term, multiply(graph, graph.reshape(weight, ()), w), rest)


def _without_scale(graph: Graph, u: Expression) -> tuple[Expression, Expression]:
    """(w, v) with u² = w·v²: factors of known sign that are one number are in w."""
    w = _number(graph, 1.0, u)
    while u.name in ("div", "mul", "neg"):
        if u.name == "neg":
            u = u.inputs[0]
            continue
        one, two = u.inputs
        choices = [(two, one)] if u.name == "div" else [(one, two), (two, one)]
        scale = next(
            (pair for pair in choices if pair[0].depends and pair[1].depends and _is_scale(graph, pair[0])), None
        )
        if scale is None or scale[1].shape != u.shape:
            break
        factor, u_rest = graph.square(graph.reshape(compact(graph, scale[0]), ())), scale[1]
        w = divide(graph, w, factor) if u.name == "div" else multiply(graph, w, factor)
        u = u_rest
    return w, u


def _is_scale(graph: Graph, factor: Expression) -> bool:
    return compact(graph, factor).size == 1 and sign(graph, factor) != 0


def _square(graph: Graph, e: Expression, c: Expression, walk: Walker) -> list[Block] | None:
    (u,) = e.inputs
    if sign(graph, c) != -1:
        return None
    if u.name == "abs":
        u = u.inputs[0]
    if u.name == "sqrt":  # a squared norm
        inner = walk(graph, u.inputs[0], c)
        return None if inner.rest else inner.blocks
    return [block_of(graph, u, c)]


def _dot(graph: Graph, e: Expression, c: Expression, walk: Walker) -> list[Block] | None:
    one, two = e.inputs
    ((left, right), (left_batch, right_batch)) = e.params["dimension_numbers"]
    left, right, left_batch, right_batch = map(tuple, (left, right, left_batch, right_batch))
    complete = len(left) + len(left_batch) == len(one.shape) and len(right) + len(right_batch) == len(two.shape)
    if not (complete and left == right and left_batch == right_batch == tuple(range(len(left_batch)))):
        return None
    (scale_one, one), (scale_two, two) = _pulled(graph, one), _pulled(graph, two)
    c = multiply(graph, c, multiply(graph, scale_one, scale_two))
    u = one if one is two else _quadratic(graph, one, two)
    if u is None or sign(graph, c) != -1:
        return None
    return [block_of(graph, u, graph.reshape(c, (*c.shape, *(1,) * len(left))) if c.shape else c)]


def _elementwise_product(graph: Graph, e: Expression, c: Expression, walk: Walker) -> list[Block] | None:
    """u·(Pu), all of whose elements are summed."""
    one, two = e.inputs
    if c.size != 1 or one.shape != two.shape or not (one.depends and two.depends):
        return None
    (scale_one, one), (scale_two, two) = _pulled(graph, one), _pulled(graph, two)
    c = multiply(graph, graph.reshape(c, ()), multiply(graph, scale_one, scale_two))
    u = one if one is two else _quadratic(graph, one, two) if one.shape else None
    return None if u is None or sign(graph, c) != -1 else [block_of(graph, u, c)]


def _pulled(graph: Graph, e: Expression) -> tuple[Expression, Expression]:
    """(s, v) with e = s·v: factors that are one number of known sign, also of the factors of a product of matrices."""
    scale = _number(graph, 1.0, e)
    while True:
        if e.name == "neg":
            scale, e = negate(graph, scale), e.inputs[0]
            continue
        if e.name in ("dot_general", "transpose", "reshape") and e.compute is not None:
            pulled = [_pulled(graph, given) for given in e.inputs]
            for factor, _ in pulled:
                scale = multiply(graph, scale, factor)
            rests = [rest for _, rest in pulled]
            if rests != list(e.inputs):
                e = graph.make(e.name, rests, e.shape, e.compute, e.dtype, **e.params)
            return scale, e
        choices = {"mul": ((0, 1), (1, 0)), "div": ((1, 0),)}.get(e.name, ())
        found = next((pair for pair in choices if _is_scale(graph, e.inputs[pair[0]])), None)
        if found is None or e.inputs[found[1]].shape != e.shape or not e.inputs[found[1]].size > 0:
            return scale, e
        factor = graph.reshape(compact(graph, e.inputs[found[0]]), ())
        scale = multiply(graph, scale, factor) if e.name == "mul" else divide(graph, scale, factor)
        e = e.inputs[found[1]]


def _quadratic(graph: Graph, one: Expression, two: Expression) -> Expression | None:
    """U with Σ u² = Σ a·b, where b = Pa with P = GGᵀ for either order of the two; None where that is not known."""
    if not (one.depends and two.depends):
        return None
    for form in (_of_solves, _of_gram, _of_constant):
        for a, b in ((one, two), (two, one)):
            if (u := form(graph, a, b)) is not None:
                return u
    return None


def _of_solves(graph: Graph, a: Expression, b: Expression) -> Expression | None:
    """B = L⁻ᵀL⁻¹a, as `cho_solve` computes it: u = L⁻¹a."""
    second = _unshaped(b)
    first = _unshaped(second.inputs[1]) if second.name == "triangular_solve" else second
    if first.name != "triangular_solve" or first.inputs[0] is not second.inputs[0]:
        return None
    turned = {**first.params, "transpose_a": not first.params["transpose_a"]}
    if dict(second.params) != turned or _unshaped(first.inputs[1]) is not _unshaped(a):
        return None
    return graph.reshape(first, a.shape)


def _unshaped(e: Expression) -> Expression:
    while e.name == "reshape":
        e = e.inputs[0]
    return e


def _of_gram(graph: Graph, a: Expression, b: Expression) -> Expression | None:
    """B = Pa, or the rows of a times P, where P = GGᵀ: u = Gᵀa."""
    if b.name != "dot_general" or a not in b.inputs or b.shape != a.shape:
        return None
    matrix = b.inputs[1] if b.inputs[0] is a else b.inputs[0]
    ((left, right), (batch, _)) = b.params["dimension_numbers"]
    of_a = left if b.inputs[0] is a else right
    if len(batch) or len(of_a) != 1 or of_a[0] != len(a.shape) - 1 or len(matrix.shape) != 2:
        return None
    if len(a.shape) > 1 and b.inputs[0] is not a:
        return None
    factor = _gram_factor(graph, matrix)
    if factor is None:
        return None
    shape = (*a.shape[:-1], factor.shape[1])
    return graph.make("dot_general", [a, factor], shape, jnp.matmul, a.dtype, rows=True)


def _gram_factor(graph: Graph, matrix: Expression) -> Expression | None:
    """G with GGᵀ = P."""
    values = graph.numbers(matrix)
    if values is not None:
        factor = _cholesky(values)
        return None if factor is None else graph.constant(factor)
    if matrix.name == "dot_general":
        one, two = matrix.inputs
        ((left, right), _) = matrix.params["dimension_numbers"]
        transposed = two.name == "transpose" and two.inputs[0] is one, one.name == "transpose" and one.inputs[0] is two
        if (one is two and tuple(left) == tuple(right) == (1,)) or (transposed[0] and (left[0], right[0]) == (1, 0)):
            return one
        if one is two and tuple(left) == tuple(right) == (0,):
            return _transpose(graph, one)
        if transposed[1] and (left[0], right[0]) == (1, 0):
            return one
    return None


def _transpose(graph: Graph, one: Expression) -> Expression:
    return graph.make("transpose", [one], one.shape[::-1], jnp.transpose, permutation=(1, 0))


def _cholesky(matrix: np.ndarray) -> np.ndarray | None:
    """The lower factor of a symmetric positive definite matrix; None of any other."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) > _MOST_ROWS:
        return None
    tolerance = 1e3 * np.finfo(matrix.dtype).eps * np.abs(matrix).max()
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=tolerance):
        return None
    try:
        return np.asarray(np.linalg.cholesky(matrix), matrix.dtype)
    except np.linalg.LinAlgError:
        return None


def _of_constant(graph: Graph, a: Expression, b: Expression) -> Expression | None:
    """B = Pa by operations that are linear and know nothing else of the position: u = Gᵀa with P computed here."""
    if len(a.shape) != 1 or b.shape != a.shape or a.size > _MOST_ROWS:
        return None
    between = [e for e in reached([b], [a]) if e.depends or a in e.inputs]
    linear = dict.fromkeys([a], True)
    for e in between:
        if e.name == "input":
            return None
        moving = [given for given in e.inputs if given in linear]
        if e.depends and not (moving and _is_linear(e, moving)):
            return None
        linear[e] = True
    with jax.ensure_compile_time_eval():
        zeros = jnp.zeros(a.shape, a.dtype)
        matrix = np.asarray(jax.jacfwd(lambda value: evaluate([b], {a: value})[0])(zeros))
    factor = _cholesky(matrix)
    if factor is None:
        return None
    return graph.make("dot_general", [a, graph.constant(factor)], a.shape, jnp.matmul, a.dtype, rows=True)


_LINEAR_NAMES = """
    add sub neg reshape broadcast_in_dim transpose slice gather rev concatenate pad reduce_sum cumsum item
    convert_element_type
"""
_LINEAR = frozenset(_LINEAR_NAMES.split())


def _is_linear(e: Expression, moving: list[Expression]) -> bool:
    """Whether an operation is linear in those of its inputs that change."""
    still = [given for given in e.inputs if given not in moving]
    if any(given.depends for given in still):
        return False
    if e.name in ("add", "sub", "concatenate", "pad"):
        return not still or (e.name == "pad" and e.inputs[1] in still and _is_zero(e.inputs[1]))
    if e.name in ("mul", "dot_general"):
        return len(moving) == 1 and e.inputs[0] is not e.inputs[1]
    if e.name in ("div", "gather"):
        return e.inputs[0] in moving and e.inputs[1] not in moving
    if e.name == "triangular_solve":
        return e.inputs[1] in moving and e.inputs[0] not in moving
    if e.name == "custom_linear_solve":
        return all(given is e.inputs[-1] for given in moving)
    return e.name in _LINEAR


def _is_zero(e: Expression) -> bool:
    return e.name == "constant" and not np.any(np.asarray(e.value))


def _log1p(graph: Graph, e: Expression, c: Expression, walk: Walker) -> list[Block] | None:
    return _student(graph, e, e.inputs[0], c, walk)


def _log(graph: Graph, e: Expression, c: Expression, walk: Walker) -> list[Block] | None:
    """Log of 1 + q."""
    total = e.inputs[0]
    if total.name == "add":
        for one, q in (total.inputs, total.inputs[::-1]):
            values = graph.numbers(one)
            if values is not None and values.size and (values == 1.0).all() and q.shape == e.shape:
                return _student(graph, e, q, c, walk)
    return None


def _student(graph: Graph, e: Expression, q: Expression, c: Expression, walk: Walker) -> list[Block] | None:
    """−k·log(1 + Σz²): Student's t with df = 2k − (number of z), whose residuals have its Fisher information.

    Of one z they are 2k/√(2k + 2)·asinh z; of a positive z, such as a scale, √((2k − 1)/(k + 1))·log z; of several,
    √df·z/(1 + Σz²)^¼. The front ends' are the same.
    """
    if sign(graph, q) != 1 or sign(graph, c) != -1:
        return None
    inner = walk(graph, q, ranked(graph, _number(graph, -0.5, q), len(q.shape)))
    if len(inner.blocks) != 1 or any(term.depends for term, _ in inner.rest):
        return None
    z, k = inner.blocks[0].residual, negate(graph, c)
    term = multiply(graph, c, e)
    one, two = _number(graph, 1.0, k), _number(graph, 2.0, k)
    twice = multiply(graph, two, k)
    if z.size == q.size:
        z = graph.reshape(z, q.shape)
        if sign(graph, z) == 1 and (values := graph.numbers(k)) is not None and (values > 0.5).all():
            information = divide(graph, add(graph, twice, negate(graph, one)), add(graph, k, one))
            log_z = function(graph, "log", jnp.log, z)
            return [Block(multiply(graph, root(graph, information), log_z), term)]
        slope = divide(graph, twice, function(graph, "sqrt", jnp.sqrt, add(graph, twice, two)))
        return [Block(multiply(graph, slope, function(graph, "asinh", jnp.arcsinh, z)), term)]
    df = add(graph, twice, _number(graph, -float(z.size), k))
    if q.shape or sign(graph, df) != 1:
        return None
    flat = add(graph, one, q)
    shrunk = divide(graph, z, function(graph, "fourth_root", lambda value: value**0.25, flat))
    return [Block(multiply(graph, root(graph, df), shrunk), term)]


_FORMS: dict[str, Callable[[Graph, Expression, Expression, Walker], list[Block] | None]] = {
    "square": _square,
    "dot_general": _dot,
    "mul": _elementwise_product,
    "log1p": _log1p,
    "log": _log,
}
"""What is looked for at each operation."""
