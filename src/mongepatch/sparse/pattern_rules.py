"""What the results of single operations depend on, for the operations that models are made from."""

from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_letters
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclass(frozen=True)
class Dependence:
    """What is known of an array: its value, or the parameters that its elements depend on, or neither."""

    shape: tuple[int, ...]
    value: Any = None
    depends: np.ndarray | None = None
    """Booleans [*shape, dimension]; None where no element depends on any parameter."""

    def table(self, dimension: int) -> np.ndarray:
        """`depends`, of False where there is none."""
        return np.zeros((*self.shape, dimension), bool) if self.depends is None else self.depends

    def nonzero(self) -> np.ndarray:
        """Where the elements may differ from 0."""
        return np.ones(self.shape, bool) if self.value is None else np.asarray(self.value) != 0


Rule: TypeAlias = Callable[[Any, list[Dependence], int], list[np.ndarray] | None]
"""Tables of the results from the operation, its inputs and the number of parameters; None where it cannot tell."""


def _elementwise(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    shape = (*equation.outvars[0].aval.shape, dimension)
    table = np.zeros(shape, bool)
    for given in inputs:
        if given.depends is not None:
            table = table | given.depends
    return [np.broadcast_to(table, shape)]


def _multiply(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    (table,) = _elementwise(equation, inputs, dimension)
    for given in inputs:
        table = table & given.nonzero()[..., None]
    return [table]


def _dot(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    """Sums over products: a factor's zeros cut off what the other factor depends on."""
    (summed, batched), letters = equation.params["dimension_numbers"], iter(ascii_letters[:-1])
    names: list[list[str]] = [[""] * len(given.shape) for given in inputs]
    for left, right in [*zip(*batched, strict=True), *zip(*summed, strict=True)]:
        names[0][left] = names[1][right] = next(letters)
    shared = [names[0][axis] for axis in batched[0]]
    free = []
    for axes in names:
        for axis, name in enumerate(axes):
            if not name:
                axes[axis] = next(letters)
                free.append(axes[axis])
    left_name, right_name = ("".join(axes) for axes in names)
    result = "".join(shared + free) + "Z"
    left, right = inputs
    count = np.zeros((*equation.outvars[0].aval.shape, dimension), np.float32)
    for name, table, other, factor in (
        (left_name, left.depends, right_name, right.nonzero()),
        (right_name, right.depends, left_name, left.nonzero()),
    ):
        if table is not None:
            operands = table.astype(np.float32), factor.astype(np.float32)
            count = count + np.einsum(f"{name}Z,{other}->{result}", *operands, optimize=True)
    return [count > 0]


def _reshape(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    return [inputs[0].table(dimension).reshape(*equation.outvars[0].aval.shape, dimension)]


def _broadcast(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    shape = equation.outvars[0].aval.shape
    spread = [1] * len(shape)
    for axis, size in zip(equation.params["broadcast_dimensions"], inputs[0].shape, strict=True):
        spread[axis] = size
    return [np.broadcast_to(inputs[0].table(dimension).reshape(*spread, dimension), (*shape, dimension))]


def _transpose(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    axes = equation.params["permutation"]
    return [inputs[0].table(dimension).transpose(*axes, len(axes))]


def _concatenate(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    return [np.concatenate([given.table(dimension) for given in inputs], axis=equation.params["dimension"])]


def _split(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    cuts = np.cumsum(equation.params["sizes"])[:-1]
    return list(np.split(inputs[0].table(dimension), cuts, axis=equation.params["axis"]))


def _stack(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    return [np.stack([given.table(dimension) for given in inputs], axis=equation.params["axis"])]


def _unstack(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    return list(np.moveaxis(inputs[0].table(dimension), equation.params["axis"], 0))


def _reduce(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    return [np.asarray(inputs[0].table(dimension).any(axis=tuple(equation.params["axes"])))]


def _accumulate(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    axis, table = equation.params["axis"], inputs[0].table(dimension)
    if equation.params["reverse"]:
        return [np.flip(np.logical_or.accumulate(np.flip(table, axis), axis), axis)]
    return [np.logical_or.accumulate(table, axis)]


def _move(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray] | None:
    """Operations that take elements from places that do not depend on parameters: done to the elements' numbers."""
    operand, places = inputs[0], inputs[1:]
    if equation.primitive.name == "pad":
        if inputs[1].depends is not None:
            return None
        places = [Dependence((), jnp.asarray(-1))]
    if any(place.depends is not None or place.value is None for place in places):
        return None
    numbers = jnp.arange(int(np.prod(operand.shape))).reshape(operand.shape)
    moved = np.asarray(equation.primitive.bind(numbers, *(place.value for place in places), **equation.params))
    table = operand.table(dimension).reshape(-1, dimension)
    return [np.where((moved >= 0)[..., None], table[np.maximum(moved, 0)], False)]


def _scatter(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray] | None:
    """Updates at known places, whatever is done with them there: what is updated may count too."""
    operand, places, updates = inputs
    if places.value is None:
        return None
    numbers, mode = equation.params["dimension_numbers"], equation.params["mode"]

    def count(before: Any, after: Any) -> Any:
        return lax.scatter_add(before, jnp.asarray(places.value), after, numbers, mode=mode)

    tables = (jnp.asarray(given.table(dimension), jnp.float32) for given in (operand, updates))
    return [np.asarray(jax.vmap(count, in_axes=-1, out_axes=-1)(*tables)) > 0]


def _update(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray] | None:
    """A block put at a known place: done to the numbers of all elements."""
    operand, block, *starts = inputs
    if any(start.value is None for start in starts):
        return None
    sizes = [int(np.prod(given.shape)) for given in (operand, block)]
    numbers = jnp.arange(sum(sizes))
    parts = numbers[: sizes[0]].reshape(operand.shape), numbers[sizes[0] :].reshape(block.shape)
    moved = np.asarray(lax.dynamic_update_slice(*parts, [start.value for start in starts]))
    return [np.concatenate([given.table(dimension).reshape(-1, dimension) for given in (operand, block)])[moved]]


def _solve_triangular(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    """A⁻¹B or BA⁻¹: every column, or row, for itself, with all of the matrix of its batch."""
    matrix, right = (given.table(dimension) for given in inputs)
    along = -3 if equation.params["left_side"] else -2
    table = matrix.any(axis=(-3, -2), keepdims=True) | right.any(axis=along, keepdims=True)
    return [np.broadcast_to(table, right.shape)]


def _factor(equation: Any, inputs: list[Dependence], dimension: int) -> list[np.ndarray]:
    """Factors of the matrices of a batch, each for itself."""
    (matrix,) = (given.table(dimension) for given in inputs)
    return [np.broadcast_to(matrix.any(axis=(-3, -2), keepdims=True), matrix.shape)]


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
