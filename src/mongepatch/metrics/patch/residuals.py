"""The function that a patch is made from, with the plan of its Jacobian."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector, Compressed, Vector
from mongepatch.errors import MetricError
from mongepatch.program import TracedFunction, jit
from mongepatch.sparse.detection import jacobian_pattern
from mongepatch.sparse.pattern import Pattern
from mongepatch.sparse.plan import JacobianPlan

_POINTS = 2
"""Random places at which a pattern is held against the derivatives themselves."""


@jax.tree_util.register_pytree_node_class
class Residuals(TracedFunction):
    """A function from flat vectors to vectors. Once traced, it knows its plan, which is structure and not traced."""

    _plan: JacobianPlan | None = None

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
        pattern = jacobian_pattern(traced.function, position.size)
        if not len(pattern):
            raise MetricError(f"{self.name} depend on no parameter.")
        traced._plan = JacobianPlan(pattern)
        if not pattern.is_full and not _holds(traced, traced._plan, position):
            traced._plan = JacobianPlan(Pattern.full(pattern.shape))
        return traced

    def plan(self, dimension: int, dtype: Any = None) -> JacobianPlan:
        """The plan for positions of this dimension."""
        position = jax.ShapeDtypeStruct((dimension,), dtype or jnp.result_type(float))
        plan = self.traced(position)._plan
        assert plan is not None  # a traced one has it
        return plan

    def compressed(self, position: Vector) -> Compressed:
        """The entries of the Jacobian at a position, as its plan arranges them."""
        traced = self.traced(jax.ShapeDtypeStruct(position.shape, position.dtype))
        return traced.plan(position.size).colouring.compressed(traced, position)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """As for any traced function, with the plan as structure."""
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


@partial(jit, static_argnames=("plan",))
def _probe(residuals: Residuals, x: Vector, w: Vector, *, plan: JacobianPlan) -> tuple[Compressed, AnyVector]:
    """The entries of J at a position, and Jw."""
    return plan.colouring.compressed(residuals, x), jax.jvp(residuals, (x,), (w,))[1]


def _holds(residuals: Residuals, plan: JacobianPlan, position: jax.ShapeDtypeStruct) -> bool:
    """Whether the entries of the pattern make up the whole Jacobian.

    A derivative of a user's own may depend on more than the function that it belongs to, which is all that a pattern is
    read off.
    """
    if any(isinstance(leaf, jax.core.Tracer) for leaf in residuals.function.data):
        return True
    rows, columns = plan.pattern.rows, plan.pattern.columns
    with jax.ensure_compile_time_eval():
        for number in range(_POINTS):
            x, w = np.random.default_rng(number).normal(size=(2, *position.shape)).astype(position.dtype)
            compressed, along = map(np.asarray, _probe(residuals, jnp.asarray(x), jnp.asarray(w), plan=plan))
            terms = compressed[plan.colouring.index] * w[columns]
            found = np.bincount(rows, terms, plan.pattern.shape[0])
            size = np.bincount(rows, np.abs(terms), plan.pattern.shape[0])
            off = np.abs(found - along) > np.sqrt(np.finfo(position.dtype).eps) * (size + np.abs(along))
            if off[np.isfinite(along) & np.isfinite(found)].any():
                return False
    return True
