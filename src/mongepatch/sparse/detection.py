"""Which residual can depend on which parameter: the pattern of a Jacobian, read off the traced program.

Every array of the program gets a table of the parameters that each of its elements may depend on. The pattern holds at
every position: all branches count as taken, and an operation without a rule makes all that it returns depend on all
that it was given. So an entry may be listed in vain, but none is missed. Zeros of known data, such as those of a design
matrix, are used: a pattern belongs to a program with its data.
"""

import math
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program import Program
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.pattern_rules import RULES, Dependence

_LARGEST = 10**8
"""Elements of a table above which everything counts as depending on everything."""

_MOST_OPERATIONS = 100_000
"""Operations in all turns of a loop above which its turns are not told apart."""

_CALLS = {"jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2", "custom_jvp_call", "custom_vjp_call"}
"""Operations that do nothing but evaluate an inner program."""


def jacobian_pattern(program: Program, dimension: int) -> Pattern:
    """Booleans [residuals, dimension]: False only where the derivative is 0 at every position."""
    position = Dependence((dimension,), depends=np.eye(dimension, dtype=bool))
    with jax.ensure_compile_time_eval():
        (residuals,) = _evaluate(program.jaxpr, [*map(_constant, program.data), position], exact=True)
    if residuals.depends is None:
        return Pattern.from_dense(np.zeros((*program.shape, dimension), bool))
    return Pattern.from_dense(residuals.depends)


def _constant(value: Any) -> Dependence:
    return Dependence(np.shape(value), None if isinstance(value, jax.core.Tracer) else value)


def _evaluate(jaxpr: Any, inputs: list[Dependence], exact: bool) -> list[Dependence]:
    """What is known of a program's results.

    `exact` says whether derivatives are those of the operations: inside a function whose derivative is a user's own,
    it may depend on what looks constant, such as a rounding.
    """
    found: dict[Any, Dependence] = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))

    def read(variable: Any) -> Dependence:
        return _constant(variable.val) if hasattr(variable, "val") else found[variable]

    for equation in jaxpr.eqns:
        results = _apply(equation, [read(variable) for variable in equation.invars], exact)
        found.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _apply(equation: Any, inputs: list[Dependence], exact: bool) -> list[Dependence]:
    """What is known of the results of one operation."""
    name, results = equation.primitive.name, [variable.aval for variable in equation.outvars]
    if name in _CALLS:
        inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        return _call(inner, inputs, exact and not name.startswith("custom"))
    if all(given.depends is None for given in inputs):
        return _values(equation, inputs)
    if name == "cond":
        branches = [_call(branch, inputs[1:], exact) for branch in equation.params["branches"]]
        return [_either(cases) for cases in zip(*branches, strict=True)]
    dimension = next(given.depends.shape[-1] for given in inputs if given.depends is not None)
    small = all(math.prod(result.shape) * dimension <= _LARGEST for result in results)
    if name == "scan" and small and 0 < _turns(equation) <= _MOST_OPERATIONS:
        return _scan(equation, inputs, exact)
    if exact and not any(np.issubdtype(result.dtype, np.inexact) for result in results):
        return [Dependence(result.shape) for result in results]  # comparisons and integers have no derivative
    tables = RULES[name](equation, inputs, dimension) if name in RULES and small else None
    if tables is None:
        union = np.any([given.table(dimension).reshape(-1, dimension).any(0) for given in inputs], axis=0)
        tables = [np.broadcast_to(union, (*result.shape, dimension)) for result in results]
    return [Dependence(result.shape, depends=table) for result, table in zip(results, tables, strict=True)]


def _call(inner: Any, inputs: list[Dependence], exact: bool) -> list[Dependence]:
    return _evaluate(getattr(inner, "jaxpr", inner), [*map(_constant, getattr(inner, "consts", ())), *inputs], exact)


def _scan(equation: Any, inputs: list[Dependence], exact: bool) -> list[Dependence]:
    """What is known of the results of a loop, turn by turn: a random walk's step knows its neighbour, not all steps."""
    params = equation.params
    constants, carry, sliced = _operands(equation, inputs)
    count = len(carry)
    turns = range(params["length"])
    collected = []
    for turn in reversed(turns) if params["reverse"] else turns:
        results = _call(params["jaxpr"], [*constants, *carry, *(_slice(given, turn) for given in sliced)], exact)
        carry = results[:count]
        collected.append(results[count:])
    if params["reverse"]:
        collected.reverse()
    return [*carry, *map(_stack, zip(*collected, strict=True))]


def _operands(equation: Any, inputs: list[Dependence]) -> tuple[list[Dependence], list[Dependence], list[Dependence]]:
    """What every turn sees, what goes from turn to turn, and what each turn sees its part of.

    Versions of JAX count them by different names; but what is cut into turns is of a shape of its own in each.
    """
    inner = equation.params["jaxpr"]
    inner = getattr(inner, "jaxpr", inner)
    last = _alike(equation.invars, inner.invars)
    first = last - _alike(equation.outvars, inner.outvars)
    return inputs[:first], inputs[first:last], inputs[last:]


def _alike(outside: Sequence[Any], inside: Sequence[Any]) -> int:
    """How many have the same shape outside a loop and inside, from the first on."""
    same = (out.aval.shape == own.aval.shape for out, own in zip(outside, inside, strict=True))
    return sum(takewhile(bool, same))


def _slice(given: Dependence, turn: int) -> Dependence:
    value = None if given.value is None else given.value[turn]
    return Dependence(given.shape[1:], value, None if given.depends is None else given.depends[turn])


def _stack(parts: tuple[Dependence, ...]) -> Dependence:
    shape = (len(parts), *parts[0].shape)
    tables = [part.depends for part in parts if part.depends is not None]
    if tables:
        return Dependence(shape, depends=np.stack([part.table(tables[0].shape[-1]) for part in parts]))
    known = all(part.value is not None for part in parts)
    return Dependence(shape, jnp.stack([part.value for part in parts]) if known else None)


def _turns(equation: Any) -> int:
    """Operations in all turns of a loop, those of inner programs included."""
    return int(equation.params["length"]) * _operations(equation.params["jaxpr"])


def _operations(jaxpr: Any) -> int:
    count = 0
    for equation in jaxpr.eqns:
        inner = [part for part in jax.tree.leaves(list(equation.params.values())) if hasattr(part, "eqns")]
        turns = int(equation.params["length"]) if equation.primitive.name == "scan" else 1
        count += 1 + turns * sum(map(_operations, inner))
    return count


def _values(equation: Any, inputs: list[Dependence]) -> list[Dependence]:
    """Results that depend on no parameter: their values, where those of all inputs are known."""
    shapes = [variable.aval.shape for variable in equation.outvars]
    if any(given.value is None for given in inputs) or any(hasattr(p, "eqns") for p in equation.params.values()):
        return [Dependence(shape) for shape in shapes]
    values = equation.primitive.bind(*(given.value for given in inputs), **equation.params)
    return [_constant(value) for value in (values if equation.primitive.multiple_results else [values])]


def _either(cases: tuple[Dependence, ...]) -> Dependence:
    tables = [case.depends for case in cases if case.depends is not None]
    return Dependence(cases[0].shape, depends=np.any(tables, axis=0) if tables else None)
