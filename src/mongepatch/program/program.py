"""A function as the program that JAX traced from it, apart from the data that it closes over.

Compilations are looked up by the program's text, with the data as an argument. So a density that is sampled again finds
its compilation, even with other data of the same shapes, and data that changed since the last call is never overlooked.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import jax
from jax.core import eval_jaxpr

from mongepatch._arrays import on_device
from mongepatch._typing import Vector

CALLS = {"jit", "pjit", "closed_call", "core_call"}
"""Operations that do nothing but evaluate an inner program."""


@jax.tree_util.register_pytree_node_class
class Program:
    """A traced function of flat vectors. A pytree whose leaves are the arrays that the function closes over."""

    def __init__(self, code: "_Code", data: tuple[Any, ...]) -> None:
        self._code, self._data = code, data

    def __call__(self, position: Vector) -> Any:
        """The value at a flat position."""
        return self._code.treedef.unflatten(eval_jaxpr(self._code.jaxpr, self._data, position))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its values, where these are one array."""
        shape: tuple[int, ...] = self._code.jaxpr.outvars[0].aval.shape
        return shape

    @property
    def jaxpr(self) -> Any:
        """The program as JAX writes it: a function of `data` and the position."""
        return self._code.jaxpr

    @property
    def data(self) -> tuple[Any, ...]:
        """The arrays that the function closes over."""
        return self._data

    def tree_flatten(self) -> tuple[tuple[Any, ...], "_Code"]:
        """The data as leaves, the code as structure."""
        return self._data, self._code

    @classmethod
    def tree_unflatten(cls, code: "_Code", data: tuple[Any, ...]) -> "Program":
        """The inverse of `tree_flatten`."""
        return cls(code, data)


class _Code:
    """A traced program that compares by what it computes: its text, and the very arrays hidden in inner functions."""

    def __init__(self, jaxpr: Any, treedef: Any) -> None:
        self.jaxpr, self.treedef = jaxpr, treedef
        self._text, self._hidden = str(jaxpr), tuple(hidden_arrays(jaxpr))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Code)
            and self._text == other._text
            and self.treedef == other.treedef
            and len(self._hidden) == len(other._hidden)
            and all(mine is theirs for mine, theirs in zip(self._hidden, other._hidden, strict=True))
        )

    def __hash__(self) -> int:
        return hash(self._text)


def trace(function: Callable[[Vector], Any], position: jax.ShapeDtypeStruct) -> tuple[Program, Any]:
    """The program of any function from flat vectors to arrays, and the shapes of these."""
    # Traced through a new function: JAX remembers what it traced of an old one, with the data of that time.
    closed, value = jax.make_jaxpr(lambda x: function(x), return_shape=True)(position)
    jaxpr, used = _without_unused(closed.jaxpr)
    constants = [constant for constant, use in zip(closed.consts, used, strict=True) if use]
    return Program(_Code(jaxpr, jax.tree.structure(value)), tuple(map(on_device, constants))), value


def _without_unused(jaxpr: Any) -> tuple[Any, list[bool]]:
    """The program without operations that its results do not depend on, and which of its constants are left.

    XLA would leave them out as well, but only after JAX has differentiated and batched them.
    """
    kept = needed_equations(jaxpr, jaxpr.outvars, with_effects=True)
    needed = {variable for equation in kept for variable in equation.invars if not hasattr(variable, "val")}
    needed |= {variable for variable in jaxpr.outvars if not hasattr(variable, "val")}
    used = [variable in needed for variable in jaxpr.constvars]
    constvars = [variable for variable, use in zip(jaxpr.constvars, used, strict=True) if use]
    return jaxpr.replace(eqns=kept, constvars=constvars), used


def needed_equations(
    jaxpr: Any, wanted: Iterable[Any], known: Collection[Any] = (), *, with_effects: bool = False
) -> list[Any]:
    """The equations that the wanted variables follow from, with some known; those with effects too, if asked for."""
    given = set(known)
    needed = {variable for variable in wanted if not hasattr(variable, "val")} - given
    found = []
    for equation in reversed(jaxpr.eqns):
        if (with_effects and equation.effects) or not needed.isdisjoint(equation.outvars):
            found.append(equation)
            needed |= {variable for variable in equation.invars if not hasattr(variable, "val")} - given
    return found[::-1]


def apply_operation(equation: Any, values: Sequence[Any]) -> list[Any]:
    """The results of one operation of a program for values of its operands."""
    bound = equation.primitive.get_bind_params(equation.params)
    functions, named = bound if isinstance(bound, tuple) else ((), bound)  # versions of JAX differ
    results = equation.primitive.bind(*functions, *values, **named)
    return list(results) if equation.primitive.multiple_results else [results]


def inner_program(call: Any) -> tuple[Any, Sequence[Any]]:
    """The program that one of the `CALLS` evaluates, and its constants."""
    inner = call.params["jaxpr"] if "jaxpr" in call.params else call.params["call_jaxpr"]
    return getattr(inner, "jaxpr", inner), getattr(inner, "consts", ())


def hidden_arrays(jaxpr: Any) -> Iterator[Any]:
    """Arrays that inner functions, such as ones under `jax.jit`, close over by themselves."""
    for equation in jaxpr.eqns:
        for parameter in equation.params.values():
            for inner in parameter if isinstance(parameter, tuple | list) else (parameter,):
                if hasattr(inner, "eqns"):  # a traced function, with arrays of its own or without
                    yield from getattr(inner, "consts", ())
                    yield from hidden_arrays(inner)
