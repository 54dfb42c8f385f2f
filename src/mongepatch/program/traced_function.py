"""Functions of the position that metrics are made from, as leaves of a pytree."""

from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.errors import MetricError
from mongepatch.program.program import Program, trace
from mongepatch.program.untraceable import UNTRACEABLE, WRITE_IT_WITH_JAX


@jax.tree_util.register_pytree_node_class
class TracedFunction:
    """A function of flat vectors that a metric holds: as its user wrote it, and once its dimension is known, traced.

    A traced one compares by what it computes, with the data that it closes over as leaves: see `Program`.
    """

    def __init__(self, name: str, function: Any) -> None:
        if not callable(function):
            raise MetricError(f"{name} must be a function of a flat vector; it is {function!r}.")
        self.name, self.function = name, function

    def __call__(self, position: Vector) -> Any:
        """The value at a flat position, in its precision."""
        value = self.function(position)
        return value.astype(position.dtype) if hasattr(value, "astype") else value

    def shape(self, dimension: int) -> tuple[int, ...]:
        """The shape of its values at positions of this dimension."""
        return self.traced(jax.ShapeDtypeStruct((dimension,), jnp.result_type(float))).function.shape

    def traced(self, position: jax.ShapeDtypeStruct) -> "TracedFunction":
        """The same with its function traced at positions of this shape and precision."""
        if isinstance(self.function, Program):
            return self
        try:
            program, value = trace(self, position)
        except UNTRACEABLE as error:
            raise MetricError(
                f"{self.name} cannot be traced by JAX: it turns its parameters into NumPy arrays or Python numbers, or "
                f"branches on their values. {WRITE_IT_WITH_JAX}"
            ) from error
        except Exception as error:
            raise MetricError(
                f"{self.name} failed at a flat vector of {position.size} parameters: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(value, jax.ShapeDtypeStruct):
            raise MetricError(f"{self.name} must return one array; it returns a {type(value).__name__}.")
        return TracedFunction(self.name, program)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """A traced function as a child; any other is structure, and compares by identity."""
        if isinstance(self.function, Program):
            return (self.function,), (self.name, None)
        return (), (self.name, self.function)

    @classmethod
    def tree_unflatten(cls, structure: Any, children: tuple[Any, ...]) -> "TracedFunction":
        """The inverse of `tree_flatten`."""
        made = object.__new__(cls)
        name, function = structure
        made.name, made.function = name, children[0] if children else function
        return made
