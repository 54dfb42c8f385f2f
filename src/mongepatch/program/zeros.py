"""Which results of a program are 0 wherever some of its inputs are 0, whatever the others are.

It follows the zeros through operations that keep or move them. What it does not know counts as not 0.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mongepatch.program.program import Program

_CALLS = {"jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call"}


def known_zeros(program: Program, zeros: np.ndarray) -> np.ndarray:
    """Whether each result is 0 where the position is 0 at some places, [dimension]; infinities are not considered."""
    (found,) = _evaluate(program.jaxpr, [*(_zeros_of(value) for value in program.data), zeros])
    return found


def _zeros_of(value: Any) -> np.ndarray:
    return np.asarray(value) == 0


def _evaluate(jaxpr: Any, inputs: list[np.ndarray]) -> list[np.ndarray]:
    found: dict[Any, np.ndarray] = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))

    def read(variable: Any) -> np.ndarray:
        return _zeros_of(variable.val) if hasattr(variable, "val") else found[variable]

    for equation in jaxpr.eqns:
        found.update(
            zip(equation.outvars, _apply(equation, [read(variable) for variable in equation.invars]), strict=True)
        )
    return [read(variable) for variable in jaxpr.outvars]


def _apply(equation: Any, inputs: list[np.ndarray]) -> list[np.ndarray]:
    name, shapes = equation.primitive.name, [variable.aval.shape for variable in equation.outvars]
    if name in _CALLS:
        inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        if hasattr(inner, "consts"):
            return _evaluate(inner.jaxpr, [*map(_zeros_of, inner.consts), *inputs])
        return _evaluate(inner, inputs)
    if name in _RULES and len(shapes) == 1:
        return [np.broadcast_to(_RULES[name](equation.params, shapes[0], *inputs), shapes[0])]
    return [np.zeros(shape, bool) for shape in shapes]


def _broadcast(params: Any, shape: tuple[int, ...], value: np.ndarray, *_: np.ndarray) -> np.ndarray:
    spread = [1] * len(shape)
    for axis, size in zip(params["broadcast_dimensions"], value.shape, strict=True):
        spread[axis] = size
    return np.broadcast_to(value.reshape(spread), shape)


def _slice(params: Any, _: Any, value: np.ndarray) -> np.ndarray:
    strides = params["strides"] or [1] * value.ndim
    return value[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))]


def _same(_: Any, shape: tuple[int, ...], value: np.ndarray) -> np.ndarray:
    return value.reshape(shape)


def _both(_: Any, __: Any, one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return one & two


_RULES: dict[str, Callable[..., np.ndarray]] = {
    "mul": lambda _, __, one, two: one | two,
    "div": lambda _, __, one, two: one & ~two,
    "add": _both,
    "sub": _both,
    "add_any": _both,
    "neg": _same,
    "convert_element_type": _same,
    "copy": _same,
    "copy_p": _same,
    "reshape": _same,
    "squeeze": _same,
    "expand_dims": _same,
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "concatenate": lambda params, _, *parts: np.concatenate(parts, params["dimension"]),
    "transpose": lambda params, _, value: value.transpose(params["permutation"]),
    "reduce_sum": lambda params, _, value: value.all(axis=tuple(params["axes"])),
    "dot_general": lambda _, __, one, two: np.array(one.all() or two.all()),
    "triangular_solve": lambda _, __, matrix, right: np.array(right.all()),
}
