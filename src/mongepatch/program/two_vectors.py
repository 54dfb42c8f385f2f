"""A linear function at two vectors, whose products with a matrix read the matrix once for both."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.program.program import CALLS, apply_operation, inner_program

_FEW, _MANY = 2**10, 2**23
"""Numbers of entries: products with smaller matrices fuse with what surrounds them, of more data no copy is made."""


_LINE = 64
"""Bytes that processors read at once."""
_OPERANDS_BEFORE_VECTORS: dict[str, int] = {}
"""Operations that take any number of vectors, by name, and how many operands come before these."""


def takes_several_vectors(operation: Any, *, after: int) -> None:
    """Declare that an operation has one result for each of the vectors that follow some first operands.

    Args:
        operation: a primitive with several results, linear in each vector.
        after: how many operands come first.
    """
    _OPERANDS_BEFORE_VECTORS[operation.name] = after


class _Pair(NamedTuple):
    """What an operation makes of the first and of the second vector."""

    first: Any
    second: Any


def at_two_vectors(
    function: Callable[[Vector], Vector], first: Vector, second: Vector, data: Collection[Any] = ()
) -> tuple[Vector, Vector]:
    """The values of a linear function at two vectors of one shape.

    On CPUs a product of a large matrix and a vector takes as long as it takes to read the matrix. So both vectors are
    multiplied at once. All other operations are done apart: as a batch they would no longer fuse.

    Args:
        function: linear, from a vector to another.
        first: a vector.
        second: another.
        data: arrays that are the same at all positions. A matrix among them, or one that is no traced array, may be
            transposed for it: the compiler does this before a loop, where it is not changed in the loop.
    """
    closed = jax.make_jaxpr(function)(first)
    given = {id(array) for array in data}
    constant = {
        id(array): jnp.size(array)
        for array in closed.consts
        if id(array) in given or not isinstance(array, jax.core.Tracer)
    }
    copied = constant if sum(constant.values()) <= _MANY else ()
    (found,) = _evaluate(closed.jaxpr, closed.consts, [_Pair(first, second)], copied)
    return (found.first, found.second) if isinstance(found, _Pair) else (found, found)


def _evaluate(jaxpr: Any, constants: Sequence[Any], inputs: Sequence[Any], copied: Collection[int]) -> list[Any]:
    """Results of a program, as pairs where they depend on the vectors, inner calls written out."""
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *inputs], strict=True))

    def read(variable: Any) -> Any:
        return variable.val if hasattr(variable, "val") else values[variable]

    for equation in jaxpr.eqns:
        results = _apply(equation, [read(variable) for variable in equation.invars], copied)
        values.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _apply(equation: Any, operands: list[Any], copied: Collection[int]) -> list[Any]:
    if not any(isinstance(operand, _Pair) for operand in operands):
        return apply_operation(equation, operands)
    if equation.primitive.name in CALLS:
        inner, constants = inner_program(equation)
        return _evaluate(inner, constants, operands, copied)
    fixed = _OPERANDS_BEFORE_VECTORS.get(equation.primitive.name, len(operands))
    if fixed < len(operands) and not any(isinstance(operand, _Pair) for operand in operands[:fixed]):
        return _together(equation, operands[:fixed], operands[fixed:])
    matrix, axis = _matrix_and_axis(equation, operands)
    if axis == 0 or (axis == 1 and id(matrix) in copied):
        return [_product(equation, operands, axis)]
    first, second = (
        apply_operation(equation, [operand[which] if isinstance(operand, _Pair) else operand for operand in operands])
        for which in (0, 1)
    )
    return list(map(_Pair, first, second))


def _together(equation: Any, fixed: list[Any], operands: list[Any]) -> list[_Pair]:
    """What an operation that takes several vectors makes of both, by one call."""
    pairs = [operand if isinstance(operand, _Pair) else _Pair(operand, operand) for operand in operands]
    results = apply_operation(equation, [*fixed, *(vector for pair in pairs for vector in pair)])
    return list(map(_Pair, results[::2], results[1::2]))


def _matrix_and_axis(equation: Any, operands: list[Any]) -> tuple[Any, int | None]:
    """The matrix that both vectors are multiplied by, and its axis that is summed, which is None for all else."""
    if equation.primitive.name != "dot_general":
        return None, None
    contracted, (batched, _) = equation.params["dimension_numbers"]
    which = 0 if isinstance(operands[1], _Pair) else 1
    matrix, vector = equation.invars[which].aval, equation.invars[1 - which].aval
    if isinstance(operands[which], _Pair) or batched or matrix.ndim != 2 or vector.ndim != 1 or matrix.size < _FEW:
        return None, None
    return operands[which], contracted[which][0] if contracted[which] else None


def _product(equation: Any, operands: list[Any], axis: int) -> _Pair:
    """A matrix times both vectors: at once on CPUs, and as two operations elsewhere, where the compiler decides."""
    settings = {name: equation.params[name] for name in ("precision", "preferred_element_type")}
    matrix_first = isinstance(operands[1], _Pair)
    matrix, (first, second) = operands if matrix_first else reversed(operands)

    def at_once(matrix: Any, first: Any, second: Any) -> Any:
        # Rows are summed many at a time, columns one by one. Without the barrier, the compiler would sum columns again.
        rows = matrix if axis == 0 else jax.lax.optimization_barrier(_in_whole_lines(matrix.T))
        both = jax.lax.dot_general(jnp.stack([first, second]), rows, (((1,), (0,)), ((), ())), **settings)
        length = matrix.shape[1 - axis]
        return both[0, :length], both[1, :length]

    def apart(matrix: Any, *vectors: Any) -> Any:
        ordered = ((matrix, vector) if matrix_first else (vector, matrix) for vector in vectors)
        return tuple(apply_operation(equation, factors)[0] for factors in ordered)

    return _Pair(*jax.lax.platform_dependent(matrix, first, second, cpu=at_once, default=apart))


def _in_whole_lines(matrix: Any) -> Any:
    """The matrix with zeros behind each row, such that rows are whole lines of a cache; short rows as they are."""
    columns = matrix.shape[1]
    zeros = -columns % (_LINE // matrix.dtype.itemsize)
    return jnp.pad(matrix, ((0, 0), (0, zeros))) if 3 * zeros <= columns else matrix
