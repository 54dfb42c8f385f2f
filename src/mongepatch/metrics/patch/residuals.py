"""The function that a patch is made from, with the plan of its Jacobian."""

from typing import Any

import jax
import jax.numpy as jnp

from mongepatch._typing import Vector
from mongepatch.errors import MetricError
from mongepatch.metrics.field import Field
from mongepatch.metrics.patch.pattern import jacobian_pattern
from mongepatch.metrics.patch.plan import Plan


@jax.tree_util.register_pytree_node_class
class Residuals(Field):
    """A function from flat vectors to vectors. Once traced, it knows its plan, which is structure and not traced."""

    _plan: Plan | None = None

    def traced(self, position: jax.ShapeDtypeStruct) -> "Residuals":
        """The function traced at positions of this shape and precision, and planned."""
        if self._plan is not None:
            return self
        # Data that are known stay known under an outer trace: a point and what is asked about it must mean one plan.
        with jax.ensure_compile_time_eval():
            traced = Residuals(self.name, super().traced(position).function)
        shape = traced.function.shape
        if len(shape) != 1 or shape[0] == 0:
            raise MetricError(f"{self.name} must return a vector; its shape is {shape}.")
        traced._plan = Plan(jacobian_pattern(traced.function, position.size))
        return traced

    def plan(self, dimension: int, dtype: Any = None) -> Plan:
        """The plan for positions of this dimension."""
        position = jax.ShapeDtypeStruct((dimension,), dtype or jnp.result_type(float))
        plan = self.traced(position)._plan
        assert plan is not None  # a traced one has it
        return plan

    def compressed(self, position: Vector) -> Vector:
        """The entries of the Jacobian at a position, as its plan arranges them."""
        traced = self.traced(jax.ShapeDtypeStruct(position.shape, position.dtype))
        return traced.plan(position.size).colouring.compressed(traced, position)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """As for any field, with the plan as structure."""
        children, structure = super().tree_flatten()
        return children, (*structure, self._plan)

    @classmethod
    def tree_unflatten(cls, structure: Any, children: tuple[Any, ...]) -> "Residuals":
        """The inverse of `tree_flatten`."""
        name, function, plan = structure
        residuals = object.__new__(cls)
        residuals.name, residuals.function = name, children[0] if children else function
        residuals._plan = plan
        return residuals
