"""What a program costs, known before it is compiled: how many operations are compiled, and how many are executed.

Both are facts of the traced program. A decision by them is the same on every machine, which one by a clock is not.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax

_LOOP_WEIGHT = 2
"""How many times as long operations of a loop take to compile."""
_UNKNOWN_TURNS = 100
"""Turns that a loop of unknown length is taken to make."""
_CUBIC = frozenset({"cholesky", "eigh", "geqrf", "householder_product", "lu", "qr", "svd", "triangular_solve"})
"""Operations on matrices whose cost is about rows · columns · rank."""


class ProgramCost(NamedTuple):
    """The cost of one evaluation."""

    compiled: int
    """Operations that the compiler has to treat: those of a loop twice, since they take longer to compile."""
    executed: float
    """Operations on numbers: those of a loop count in every turn."""


def cost_of(function: Callable[..., Any], *arguments: Any) -> ProgramCost:
    """The cost of a function at arguments of these shapes."""
    return _cost(jax.make_jaxpr(function)(*arguments).jaxpr)


def _cost(jaxpr: Any) -> ProgramCost:
    compiled, executed = 0, 0.0
    for equation in jaxpr.eqns:
        inner = [_cost(program) for program in _programs(equation.params)]
        compiled += 1 + _weight(equation) * sum(cost.compiled for cost in inner)
        executed += _own(equation) + _turns(equation) * sum(cost.executed for cost in inner)
    return ProgramCost(compiled, executed)


def _weight(equation: Any) -> int:
    return _LOOP_WEIGHT if equation.primitive.name in ("scan", "while") else 1


def _turns(equation: Any) -> int:
    if equation.primitive.name == "while":
        return _UNKNOWN_TURNS
    return int(equation.params.get("length", 1)) if equation.primitive.name == "scan" else 1


def _own(equation: Any) -> float:
    """Operations of an equation by itself."""
    if any(True for _ in _programs(equation.params)):
        return 0.0
    size = float(sum(math.prod(variable.aval.shape) for variable in equation.outvars))
    shape = equation.invars[0].aval.shape if equation.invars else ()
    if equation.primitive.name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        return size * math.prod(shape[axis] for axis in contracted)
    if equation.primitive.name in _CUBIC and len(shape) > 1:
        return size * min(shape[-2:])
    return size


def _programs(params: dict[str, Any]) -> Iterator[Any]:
    """Inner programs of an equation."""
    for value in params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            program = getattr(part, "jaxpr", part)
            if hasattr(program, "eqns"):
                yield program
