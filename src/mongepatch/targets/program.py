"""A log density as the program that JAX traced from it, apart from the data that it closes over.

Compilations are looked up by the program's text, with the data as an argument. So a density that is sampled again finds
its compilation, even with other data of the same shapes, and data that changed since the last call is never overlooked.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import eval_jaxpr
from jax.errors import ConcretizationTypeError, TracerArrayConversionError, TracerBoolConversionError

from mongepatch._typing import LogDensity, Vector
from mongepatch.errors import LogDensityError

_NOT_JAX = (ConcretizationTypeError, TracerArrayConversionError, TracerBoolConversionError)


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
        self._text, self._hidden = str(jaxpr), tuple(_hidden_arrays(jaxpr))

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


def trace(logdensity: LogDensity, position: jax.ShapeDtypeStruct) -> Program:
    """The program of a log density of flat vectors, or a refusal of what is none."""
    program, value = _attempt(lambda: trace_function(logdensity, position))
    _check_value(value)
    return program


def trace_function(function: Callable[[Vector], Any], position: jax.ShapeDtypeStruct) -> tuple[Program, Any]:
    """The program of any function from flat vectors to arrays, and the shapes of these."""
    # Traced through a new function: JAX remembers what it traced of an old one, with the data of that time.
    closed, value = jax.make_jaxpr(lambda x: function(x), return_shape=True)(position)
    code = _Code(closed.jaxpr, jax.tree.structure(value))
    return Program(code, tuple(jnp.asarray(constant) for constant in closed.consts)), value


def check_density(logdensity: LogDensity, position: Any) -> None:
    """Raise unless the log density of a flat vector is one real number that JAX can trace."""
    _check_value(_attempt(lambda: jax.eval_shape(lambda x: logdensity(x), position)))


def _attempt(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except _NOT_JAX as error:
        raise LogDensityError(
            "The log density is not differentiable by JAX: it turns its parameters into NumPy arrays or branches on "
            "their values. Write it with jax.numpy, and jnp.where or jax.lax.cond in place of if."
        ) from error
    except Exception as error:
        raise LogDensityError(
            f"The log density failed at the starting point's shapes: {type(error).__name__}: {error}"
        ) from error


def _check_value(value: Any) -> None:
    if not isinstance(value, jax.ShapeDtypeStruct):
        raise LogDensityError(f"The log density must return one number; it returns a {type(value).__name__}.")
    if value.shape != ():
        raise LogDensityError(
            f"The log density must return one number; it returns an array of shape {value.shape}. "
            "Sum over observations and parameters: .sum()."
        )
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise LogDensityError(f"The log density must return a real number; it returns {value.dtype}.")


def _hidden_arrays(jaxpr: Any) -> Iterator[Any]:
    """Arrays that inner functions, such as ones under `jax.jit`, close over by themselves."""
    for equation in jaxpr.eqns:
        for parameter in equation.params.values():
            for inner in parameter if isinstance(parameter, tuple | list) else (parameter,):
                if hasattr(inner, "eqns"):  # a traced function, with arrays of its own or without
                    yield from getattr(inner, "consts", ())
                    yield from _hidden_arrays(inner)
