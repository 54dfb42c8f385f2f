"""What the results of single operations depend on, for the operations that models are made from."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from mongepatch.program import block_at, in_numpy, scattered_places
from mongepatch.sparse.dependence import Dependence, DependenceTable, joined, union

Rule: TypeAlias = Callable[[Any, list[Dependence], int], list[DependenceTable] | None]
"""Tables of the results from the operation, its inputs and the number of parameters; None where it cannot tell."""

_MANY_TERMS = 20_000_000
"""Terms of a product above which zeros of its factors are not used."""


def _elementwise(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    table = union([given.depends for given in inputs if given.depends is not None])
    return [table.moved(np.broadcast_to(table.index, equation.outvars[0].aval.shape))]


def _multiply(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    (table,) = _elementwise(equation, inputs, dimension)
    for given in inputs:
        table = table.where(np.broadcast_to(given.nonzero, table.index.shape))
    return [table]


def factors(equation: Any, arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Elements of the factors of a `dot_general`: [batch, rows, terms] and [batch, terms, columns]."""
    (summed, batched) = equation.params["dimension_numbers"]
    found = []
    for array, own_summed, own_batched in zip(arrays, summed, batched, strict=True):
        free = [axis for axis in range(array.ndim) if axis not in (*own_summed, *own_batched)]
        sizes = [int(np.prod([array.shape[a] for a in axes], dtype=int)) for axes in (own_batched, free, own_summed)]
        found.append(array.transpose(*own_batched, *free, *own_summed).reshape(sizes))
    return found[0], found[1].transpose(0, 2, 1)


def _dot(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    """Sums over products: a factor's zeros cut off what the other factor depends on."""
    shape = equation.outvars[0].aval.shape
    nonzero = factors(equation, [given.nonzero for given in inputs])
    parts = []
    for number, given in enumerate(inputs):
        if given.depends is None:
            continue
        arrays = [np.zeros(other.shape, int) for other in inputs]
        arrays[number] = given.depends.index
        index, mask = factors(equation, arrays)[number], nonzero[1 - number]
        if number == 0:  # the same with both factors transposed and exchanged
            index, mask = index.transpose(0, 2, 1), mask.transpose(0, 2, 1)
        found = _combined(given.depends, index, mask)
        parts.append(found.moved(found.index.transpose(0, 2, 1)) if number == 0 else found)
    table = union(parts)
    return [table.moved(table.index.reshape(shape))]


def _combined(table: DependenceTable, index: np.ndarray, mask: np.ndarray) -> DependenceTable:
    """Unions over the terms of elements [batch, terms, columns] that a mask [batch, rows, terms] lets through."""
    batch, rows, _ = mask.shape
    columns = index.shape[2]
    if mask.all() or np.count_nonzero(mask) * columns > _MANY_TERMS:
        found = table.moved(index).reduced((1,))
        return found.moved(np.broadcast_to(found.index[:, None], (batch, rows, columns)))
    b, r, t = np.nonzero(mask)
    groups = ((b * rows + r) * columns)[:, None] + np.arange(columns)
    found = table.grouped(groups, index[b, t], batch * rows * columns)
    return found.moved(found.index.reshape(batch, rows, columns))


def _reshape(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    table = inputs[0].table(dimension)
    return [table.moved(table.index.reshape(equation.outvars[0].aval.shape))]


def _broadcast(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    shape, table = equation.outvars[0].aval.shape, inputs[0].table(dimension)
    spread = [1] * len(shape)
    for axis, size in zip(equation.params["broadcast_dimensions"], inputs[0].shape, strict=True):
        spread[axis] = size
    return [table.moved(np.broadcast_to(table.index.reshape(spread), shape))]


def _transpose(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    table = inputs[0].table(dimension)
    return [table.moved(table.index.transpose(equation.params["permutation"]))]


def _concatenate(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    tables = joined([given.table(dimension) for given in inputs])
    return [tables[0].moved(np.concatenate([table.index for table in tables], axis=equation.params["dimension"]))]


def _split(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    cuts, table = np.cumsum(equation.params["sizes"])[:-1], inputs[0].table(dimension)
    return [table.moved(part) for part in np.split(table.index, cuts, axis=equation.params["axis"])]


def _stack(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    tables = joined([given.table(dimension) for given in inputs])
    return [tables[0].moved(np.stack([table.index for table in tables], axis=equation.params["axis"]))]


def _unstack(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    table = inputs[0].table(dimension)
    return [table.moved(part) for part in np.moveaxis(table.index, equation.params["axis"], 0)]


def _reduce(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    return [inputs[0].table(dimension).reduced(tuple(equation.params["axes"]))]


def _accumulate(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    """Unions of all elements so far: of 2, then of 4, and so on."""
    axis, table = equation.params["axis"], inputs[0].table(dimension)
    size, distance = table.index.shape[axis], 1
    while distance < size:
        last = table.moved(np.take(table.index, np.arange(size - distance), axis))
        first = table.moved(np.take(table.index, np.arange(distance, size), axis))
        if equation.params["reverse"]:
            changed, kept = union([last, first]), np.take(table.index, np.arange(size - distance, size), axis)
            parts = joined([changed, table.moved(kept)])
        else:
            changed, kept = union([first, last]), np.take(table.index, np.arange(distance), axis)
            parts = joined([table.moved(kept), changed])
        table = parts[0].moved(np.concatenate([part.index for part in parts], axis))
        distance *= 2
    return [table]


def _move(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable] | None:
    """Operations that take elements from places that do not depend on parameters: done to the elements' numbers."""
    operand, places = inputs[0], inputs[1:]
    if equation.primitive.name == "pad":
        if inputs[1].depends is not None:
            return None
        places = [Dependence((), np.asarray(-1))]
    if any(place.depends is not None or place.value is None for place in places):
        return None
    numbers = np.arange(int(np.prod(operand.shape))).reshape(operand.shape)
    operands, (result,) = [numbers, *(place.value for place in places)], equation.outvars
    known = in_numpy(equation.primitive.name, operands, result.aval.shape, int, equation.params)
    moved = np.asarray(equation.primitive.bind(*operands, **equation.params)) if known is None else known
    table = operand.table(dimension)
    inside = (moved >= 0) & (moved < table.index.size)
    return [table.moved(table.index.reshape(-1)[np.where(inside, moved, 0)]).where(inside)]


def _scatter(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable] | None:
    """Updates at known places, whatever is done with them there: what is updated may count too."""
    operand, places, updates = inputs
    if places.value is None:
        return None
    size = int(np.prod(operand.shape))
    to = scattered_places(equation.params, operand.shape, np.asarray(places.value), updates.shape).reshape(-1)
    before, after = joined([operand.table(dimension), updates.table(dimension)])
    groups = np.append(np.arange(size), to[to >= 0])
    found = before.grouped(groups, np.append(before.index.reshape(-1), after.index.reshape(-1)[to >= 0]), size)
    return [found.moved(found.index.reshape(operand.shape))]


def _update(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable] | None:
    """A block put at a known place: done to the numbers of all elements."""
    operand, block, *starts = inputs
    if any(start.value is None for start in starts):
        return None
    before, after = joined([operand.table(dimension), block.table(dimension)])
    index = before.index.copy()
    index[block_at([start.value for start in starts], index.shape, after.index.shape)] = after.index
    return [before.moved(index)]


def _solve_triangular(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    """A⁻¹B or BA⁻¹: every column, or row, for itself, with all of the matrix of its batch."""
    matrix, right = of_matrices(inputs[0].table(dimension)), inputs[1].table(dimension)
    along = right.index.ndim - (2 if equation.params["left_side"] else 1)
    column = right.reduced((along,))
    table = union([matrix, column.moved(np.expand_dims(column.index, along))])
    return [table.moved(np.broadcast_to(table.index, right.index.shape))]


def of_matrices(table: DependenceTable) -> DependenceTable:
    """What any element of each matrix of a batch depends on, [*batch, 1, 1]."""
    found = table.reduced((table.index.ndim - 2, table.index.ndim - 1))
    return found.moved(found.index[..., None, None])


def _factor(equation: Any, inputs: list[Dependence], dimension: int) -> list[DependenceTable]:
    """Factors of the matrices of a batch, each for itself."""
    table = of_matrices(inputs[0].table(dimension))
    return [table.moved(np.broadcast_to(table.index, inputs[0].shape))]


_ELEMENTWISE = """
    add add_any sub div rem neg max min abs sign floor ceil round exp exp2 log log1p expm1 sin cos tan asin acos atan
    atan2 sinh cosh tanh asinh acosh atanh sqrt rsqrt cbrt pow integer_pow square logistic erf erfc erf_inv lgamma
    digamma polygamma igamma igammac igamma_grad_a regularized_incomplete_beta bessel_i0e bessel_i1e select_n clamp
    convert_element_type reduce_precision copy copy_p nextafter is_finite eq ne lt le gt ge and or not xor
    stop_gradient zeta
"""
RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshape),
    **dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod"), _reduce),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), _accumulate),
    **dict.fromkeys(("gather", "dynamic_slice", "slice", "rev", "pad", "tile"), _move),
    **dict.fromkeys(("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max"), _scatter),
    "dynamic_update_slice": _update,
    "mul": _multiply,
    "dot_general": _dot,
    "triangular_solve": _solve_triangular,
    "cholesky": _factor,
    "broadcast_in_dim": _broadcast,
    "transpose": _transpose,
    "concatenate": _concatenate,
    "split": _split,
    "stack": _stack,
    "unstack": _unstack,
}
