"""Names for the arrays that flow between rooms.

Shapes are written with jaxtyping for the reader and the type checker; at run time the names are plain `jax.Array`, so
that the library imports with jax and numpy alone.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import jax

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, Key

    Scalar: TypeAlias = Float[Array, ""]
    Vector: TypeAlias = Float[Array, " dim"]
    Matrix: TypeAlias = Float[Array, "dim dim"]
    Count: TypeAlias = Int[Array, ""]
    Flag: TypeAlias = Bool[Array, ""]
    PRNGKey: TypeAlias = Key[Array, ""]
else:
    Scalar = Vector = Matrix = Count = Flag = PRNGKey = jax.Array

PyTree: TypeAlias = Any
"""Any nesting of dicts, tuples and dataclasses of arrays: a model's parameters as their author wrote them."""

LogDensity: TypeAlias = Callable[[Any], Any]
"""Position to unnormalised log density. Inside the library positions are flat vectors."""
