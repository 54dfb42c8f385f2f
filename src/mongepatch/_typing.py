"""Names for the arrays that flow between rooms, with their shapes.

Shapes are written with jaxtyping, for the reader and the type checker. Where jaxtyping is loaded before this library,
as in its tests, they are checked at run time too. Otherwise the names are plain `jax.Array`, so that the library
imports with jax and numpy alone.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import jax

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Array, Bool, Float, Int, Key, UInt32

    Scalar: TypeAlias = Float[Array, ""]
    Vector: TypeAlias = Float[Array, " dim"]
    Matrix: TypeAlias = Float[Array, "dim dim"]
    Rows: TypeAlias = Float[Array, "rows columns"]
    Count: TypeAlias = Int[Array, ""]
    Flag: TypeAlias = Bool[Array, ""]
    PRNGKey: TypeAlias = Key[Array, "..."] | UInt32[Array, "... 2"]
else:
    Scalar = Vector = Matrix = Rows = Count = Flag = PRNGKey = jax.Array

PyTree: TypeAlias = Any
"""Any nesting of dicts, tuples and dataclasses of arrays: a model's parameters as their author wrote them."""

LogDensity: TypeAlias = Callable[[Any], Any]
"""Position to unnormalised log density. Inside the library positions are flat vectors."""
