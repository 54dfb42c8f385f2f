"""Signs of expressions that hold at every position: known, or left open."""

from collections.abc import Callable

import numpy as np

from mongepatch.program.squares.expression import Expression, Graph

_SAME_NAMES = """
    reduce_sum reshape broadcast_in_dim transpose slice gather dynamic_slice rev convert_element_type cumsum
    reduce_max reduce_min expm1 sinh tanh asinh atan erf cbrt sign stop_gradient
"""
_SAME = frozenset(_SAME_NAMES.split())
"""Operations whose results have the sign of what they are done to."""
_POSITIVE = frozenset(["exp", "exp2", "square", "sqrt", "rsqrt", "abs", "logistic", "erfc", "cosh", "iota"])


def sign(graph: Graph, expression: Expression) -> int:
    """1 where all elements are at least 0 at every position, −1 where they are at most 0, 0 if that is not known."""
    if expression not in graph.signs:
        graph.signs[expression] = _sign(graph, expression)
    return graph.signs[expression]


def _sign(graph: Graph, expression: Expression) -> int:
    if expression.name == "input":
        return expression.sign
    if not expression.depends:
        values = graph.numbers(expression)
        if values is None or values.dtype == bool:
            return 0
        return 1 if (values >= 0).all() else -1 if (values <= 0).all() else 0
    if expression.name in _POSITIVE:
        return 1
    if expression.name in _SAME:
        return sign(graph, expression.inputs[0])
    if expression.inside is not None:
        return sign(graph, expression.inside)
    rule = _RULES.get(expression.name)
    return 0 if rule is None else rule(graph, expression)


def _common(signs: list[int]) -> int:
    return signs[0] if all(one == signs[0] for one in signs) else 0


def _of_inputs(graph: Graph, expression: Expression) -> list[int]:
    return [sign(graph, given) for given in expression.inputs]


def _sum(graph: Graph, expression: Expression) -> int:
    return _common([sign(graph, given) for given in expression.inputs if not _is_zero(graph, given)])


def _difference(graph: Graph, expression: Expression) -> int:
    one, two = expression.inputs
    return _common([of * sign(graph, given) for of, given in ((1, one), (-1, two)) if not _is_zero(graph, given)])


def _is_zero(graph: Graph, expression: Expression) -> bool:
    values = graph.numbers(expression)
    return values is not None and not values.any()


def _negative(graph: Graph, expression: Expression) -> int:
    return -sign(graph, expression.inputs[0])


def _product(graph: Graph, expression: Expression) -> int:
    return int(np.prod(_of_inputs(graph, expression)))


def _power(graph: Graph, expression: Expression) -> int:
    return 1 if expression.params["y"] % 2 == 0 else sign(graph, expression.inputs[0])


def _of_positive(graph: Graph, expression: Expression) -> int:
    """Positive where its first argument is."""
    return max(sign(graph, expression.inputs[0]), 0)


def _maximum(graph: Graph, expression: Expression) -> int:
    signs = _of_inputs(graph, expression)
    return 1 if 1 in signs else _common(signs)


def _minimum(graph: Graph, expression: Expression) -> int:
    signs = _of_inputs(graph, expression)
    return -1 if -1 in signs else _common(signs)


def _between(graph: Graph, expression: Expression) -> int:
    low, _, high = _of_inputs(graph, expression)
    return 1 if low == 1 else -1 if high == -1 else 0


def _choice(graph: Graph, expression: Expression) -> int:
    condition, *cases = expression.inputs
    if is_nan_test(condition):
        return sign(graph, cases[0])
    return _common([sign(graph, case) for case in cases])


def is_nan_test(condition: Expression) -> bool:
    """Whether a condition, x ≠ x, holds of no number."""
    return condition.name == "ne" and condition.inputs[0] is condition.inputs[1]


_RULES: dict[str, Callable[[Graph, Expression], int]] = {
    "add": _sum,
    "sub": _difference,
    "neg": _negative,
    "mul": _product,
    "div": _product,
    "dot_general": _product,
    "integer_pow": _power,
    "pow": _of_positive,
    "log1p": _of_positive,
    "reduce_prod": _of_positive,
    "cumprod": _of_positive,
    "max": _maximum,
    "min": _minimum,
    "clamp": _between,
    "select_n": _choice,
    "concatenate": _sum,
    "pad": _sum,
}
