"""A program in two parts: what leads to some of its arrays, and what follows from them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector, Vector
from mongepatch.program.program import CALLS, Program, apply_operation, inner_program, needed_equations, trace


class Cut(NamedTuple):
    """The parts of a program."""

    head: Program
    """The arrays of the cut, as one vector η, as a function of the position x."""
    rest: Program
    """The results, as a function of η followed by x."""


def written_out(function: Callable[[Vector], Any], position: jax.ShapeDtypeStruct) -> Program:
    """The program of a function without inner calls, and in which no operation is done twice."""
    program, _ = trace(function, position)
    done: dict[Any, Any] = {}
    return trace(lambda x: _evaluate(program.jaxpr, program.data, [x], done=done), position)[0]


def cut(program: Program, at: Sequence[Any], position: jax.ShapeDtypeStruct) -> Cut:
    """Cut a program at some of its variables, which must not be its input.

    Args:
        program: without inner calls, as `written_out` makes it.
        at: variables of its equations.
        position: shape and precision of its input.
    """
    ends = np.cumsum([0, *(variable.aval.size for variable in at)])

    def head(x: Vector) -> AnyVector:
        found = _evaluate(program.jaxpr, program.data, [x], wanted=at)
        return jnp.concatenate([jnp.ravel(value) for value in found])

    def rest(both: Vector) -> Any:
        known = {
            variable: both[first:last].reshape(variable.aval.shape)
            for variable, first, last in zip(at, ends[:-1], ends[1:], strict=True)
        }
        return _evaluate(program.jaxpr, program.data, [both[ends[-1] :]], known=known)

    longer = jax.ShapeDtypeStruct((int(ends[-1]) + position.size,), position.dtype)
    return Cut(trace(head, position)[0], trace(rest, longer)[0])


def _evaluate(
    jaxpr: Any,
    constants: Sequence[Any],
    inputs: Sequence[Any],
    *,
    wanted: Sequence[Any] | None = None,
    known: dict[Any, Any] | None = None,
    done: dict[Any, Any] | None = None,
) -> list[Any]:
    """Values of a program's results, or of the wanted variables, inner calls written out.

    Args:
        jaxpr: the program.
        constants: values of its constants.
        inputs: values of its arguments.
        wanted: variables to return in place of the results.
        known: values of variables that need not be computed.
        done: operations so far, by what they are done to: the same one is not done again.
    """
    wanted = jaxpr.outvars if wanted is None else wanted
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *inputs], strict=True)) | (known or {})

    def read(variable: Any) -> Any:
        return variable.val if hasattr(variable, "val") else values[variable]

    for equation in needed_equations(jaxpr, wanted, known or ()):
        operands = [read(variable) for variable in equation.invars]
        results = _apply(equation, operands, done)
        for variable, result in zip(equation.outvars, results, strict=True):
            values.setdefault(variable, result)
    return [read(variable) for variable in wanted]


def _apply(equation: Any, operands: list[Any], done: dict[Any, Any] | None) -> list[Any]:
    if equation.primitive.name in CALLS:
        return _evaluate(*inner_program(equation), operands, done=done)
    if done is None:
        return apply_operation(equation, operands)
    parameters = [(name, _identity(value)) for name, value in equation.params.items()]
    key = equation.primitive, *parameters, *map(_identity, operands)
    if key not in done:
        done[key] = apply_operation(equation, operands), operands, equation  # kept, so that their identities stay
    found: list[Any] = done[key][0]
    return found


def _identity(value: Any) -> Any:
    """What tells an operand or a parameter from others: numbers and names by their value, arrays by themselves."""
    if isinstance(value, jax.core.Tracer | np.ndarray | jax.Array) and np.ndim(value):
        return id(value)
    if isinstance(value, np.generic | np.ndarray | jax.Array) and not isinstance(value, jax.core.Tracer):
        return str(value.dtype), value.item()
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
