"""Which residual can depend on which parameter, read off the traced program.

Every array of the program gets a table of the parameters that each of its elements may depend on. The pattern holds at
every position: all branches count as taken, and an operation without a rule makes all that it returns depend on all
that it was given. So an entry may be listed in vain, but none is missed. Zeros of known data, such as those of a design
matrix, are used: a pattern belongs to a program with its data.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program import Program, in_numpy
from mongepatch.program.program import needed_equations
from mongepatch.sparse.dependence import Dependence, DependenceTable, joined, union
from mongepatch.sparse.interactions import Interactions
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.pattern_rules import RULES

_MOST_OPERATIONS = 100_000
"""Operations in all turns of a loop above which its turns are not told apart."""

_CALLS = {"jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2", "custom_jvp_call", "custom_vjp_call"}
"""Operations that do nothing but evaluate an inner program."""


def jacobian_pattern(program: Program, dimension: int) -> Pattern:
    """The pattern of the Jacobian, [residuals, dimension]: an entry off it is 0 at every position."""
    (residuals,) = _results(program, dimension, _Mode(exact=True, interactions=None))
    (count,) = program.shape
    table = residuals.table(dimension)
    found = table.sets[table.index].tocoo()
    return Pattern((count, dimension), found.row, found.col)


def interaction_pattern(program: Program, dimension: int) -> Pattern:
    """Pairs of parameters, [dimension, dimension], whose second derivative is not 0 in every result at every position.

    It is symmetric. A parameter that is not paired with itself or with others enters as in an affine function, for any
    values of the rest: with (θ − μ)/τ these are θ and μ, which interact with τ alone. Where a derivative does not
    exist, as of |x| at 0, it counts as not 0.
    """
    interactions = Interactions(dimension)
    _results(program, dimension, _Mode(exact=False, interactions=interactions))
    return interactions.pattern()


class Operation(NamedTuple):
    """An operation of a program, and what is known of its operands and results."""

    equation: Any
    inputs: list[Dependence]
    results: list[Dependence]
    interactions: Interactions
    """Pairs of parameters that this operation makes interact."""


def operations(program: Program, dimension: int) -> list[Operation]:
    """The operations whose results are used, one by one. An inner call counts as one."""
    found = dict(zip([*program.jaxpr.constvars, *program.jaxpr.invars], _inputs(program, dimension), strict=True))
    listed = []
    with jax.ensure_compile_time_eval():
        for equation in needed_equations(program.jaxpr, program.jaxpr.outvars):
            inputs = [_read(variable, found) for variable in equation.invars]
            interactions = Interactions(dimension)
            results = _apply(equation, inputs, _Mode(exact=False, interactions=interactions))
            found.update(zip(equation.outvars, results, strict=True))
            listed.append(Operation(equation, inputs, results, interactions))
    return listed


class _Mode(NamedTuple):
    """What is asked of a program."""

    exact: bool
    """Whether derivatives are those of the operations: inside a function whose derivative is a user's own, it may
    depend on what looks constant, such as a rounding. Interactions depend on choices and roundings too."""
    interactions: Interactions | None
    """Where interactions are collected."""


def _results(program: Program, dimension: int, mode: _Mode) -> list[Dependence]:
    with jax.ensure_compile_time_eval():
        return _evaluate(program.jaxpr, _inputs(program, dimension), mode)


def _inputs(program: Program, dimension: int) -> list[Dependence]:
    position = Dependence((dimension,), depends=DependenceTable.each(dimension))
    return [*map(_constant, program.data), position]


def _constant(value: Any) -> Dependence:
    return Dependence(np.shape(value), None if isinstance(value, jax.core.Tracer) else np.asarray(value))


def _evaluate(jaxpr: Any, inputs: list[Dependence], mode: _Mode) -> list[Dependence]:
    """What is known of a program's results."""
    found: dict[Any, Dependence] = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))
    # What a library computes in passing may interact as it likes: only what results follow from is looked at.
    for equation in needed_equations(jaxpr, jaxpr.outvars):
        results = _apply(equation, [_read(variable, found) for variable in equation.invars], mode)
        found.update(zip(equation.outvars, results, strict=True))
    return [_read(variable, found) for variable in jaxpr.outvars]


def _read(variable: Any, found: dict[Any, Dependence]) -> Dependence:
    return _constant(variable.val) if hasattr(variable, "val") else found[variable]


def _apply(equation: Any, inputs: list[Dependence], mode: _Mode) -> list[Dependence]:
    """What is known of the results of one operation."""
    name, results = equation.primitive.name, [variable.aval for variable in equation.outvars]
    if name in _CALLS:
        inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        custom = name.startswith("custom")
        found = _call(inner, inputs, mode._replace(exact=mode.exact and not custom))
        if custom and mode.interactions is not None:  # its derivative may be any function of what it depends on
            _all_interact(mode.interactions, found)
        return found
    if all(given.depends is None for given in inputs):
        return _values(equation, inputs)
    if name == "cond":
        branches = [_call(branch, inputs[1:], mode) for branch in equation.params["branches"]]
        found = [_either([*cases, *inputs[:1]]) for cases in zip(*branches, strict=True)]
        if mode.interactions is not None and inputs[0].depends is not None:
            _all_interact(mode.interactions, found)
        return found
    if name == "scan" and 0 < _turns(equation) <= _MOST_OPERATIONS:
        return _scan(equation, inputs, mode)
    if mode.exact and not any(np.issubdtype(result.dtype, np.inexact) for result in results):
        return [Dependence(result.shape) for result in results]  # comparisons and integers have no derivative
    dimension = next(given.depends.dimension for given in inputs if given.depends is not None)
    tables = RULES[name](equation, inputs, dimension) if name in RULES else None
    if mode.interactions is not None:
        mode.interactions.record(equation, inputs, tables)
    if tables is None:
        total = union([given.depends.total(()) for given in inputs if given.depends is not None])
        tables = [total.moved(np.broadcast_to(total.index, result.shape)) for result in results]
    return [Dependence(result.shape, depends=table) for result, table in zip(results, tables, strict=True)]


def _all_interact(interactions: Interactions, results: list[Dependence]) -> None:
    for result in results:
        if result.depends is not None:
            interactions.within(result.depends)


def _call(inner: Any, inputs: list[Dependence], mode: _Mode) -> list[Dependence]:
    return _evaluate(getattr(inner, "jaxpr", inner), [*map(_constant, getattr(inner, "consts", ())), *inputs], mode)


def _scan(equation: Any, inputs: list[Dependence], mode: _Mode) -> list[Dependence]:
    """What is known of the results of a loop, turn by turn: a random walk's step knows its neighbour, not all steps."""
    params = equation.params
    constants, carry, sliced = _operands(equation, inputs)
    count = len(carry)
    turns = range(params["length"])
    collected = []
    for turn in reversed(turns) if params["reverse"] else turns:
        results = _call(params["jaxpr"], [*constants, *carry, *(_slice(given, turn) for given in sliced)], mode)
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
    depends = None if given.depends is None else given.depends.moved(given.depends.index[turn])
    return Dependence(given.shape[1:], value, depends)


def _stack(parts: tuple[Dependence, ...]) -> Dependence:
    shape = (len(parts), *parts[0].shape)
    tables = [part.depends for part in parts if part.depends is not None]
    if tables:
        together = joined([part.table(tables[0].dimension) for part in parts])
        return Dependence(shape, depends=together[0].moved(np.stack([table.index for table in together])))
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
    shapes, (first, *_) = [variable.aval.shape for variable in equation.outvars], equation.outvars
    if any(given.value is None for given in inputs) or any(hasattr(p, "eqns") for p in equation.params.values()):
        return [Dependence(shape) for shape in shapes]
    operands = [given.value for given in inputs]
    known = in_numpy(equation.primitive.name, operands, first.aval.shape, first.aval.dtype, equation.params)
    if known is not None:
        return [_constant(known)]
    values = equation.primitive.bind(*operands, **equation.params)
    return [_constant(value) for value in (values if equation.primitive.multiple_results else [values])]


def _either(cases: list[Dependence]) -> Dependence:
    tables = [case.depends for case in cases if case.depends is not None]
    if not tables:
        return Dependence(cases[0].shape)
    table = union(tables)
    return Dependence(cases[0].shape, depends=table.moved(np.broadcast_to(table.index, cases[0].shape)))
