"""Names for the arrays that flow between rooms, with their shapes.

A dimension of one name has one length within a call of a function. Shapes are written with jaxtyping, for the reader
and the type checker. Where jaxtyping is loaded before this library, as in its tests, they are checked at run time too.
Otherwise the names are plain `jax.Array`, so that the library imports with jax, numpy and scipy alone.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import jax

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Array, Bool, Float, Int, Key, UInt32

    Scalar: TypeAlias = Float[Array, ""]
    Scalars: TypeAlias = Float[Array, "..."]
    Vector: TypeAlias = Float[Array, " dim"]
    Vectors: TypeAlias = Float[Array, "... dim"]
    Matrix: TypeAlias = Float[Array, "dim dim"]
    Count: TypeAlias = Int[Array, ""]
    Flag: TypeAlias = Bool[Array, ""]
    PRNGKey: TypeAlias = Key[Array, "..."] | UInt32[Array, "... 2"]

    # Of many positions, and of directions at one: [positions, dimension] and [dimension, directions].
    Positions: TypeAlias = Float[Array, "positions dim"]
    PerPosition: TypeAlias = Float[Array, " positions"]
    Directions: TypeAlias = Float[Array, "dim directions"]
    PerDirection: TypeAlias = Float[Array, " directions"]
    Spectra: TypeAlias = Float[Array, "positions directions"]

    # Of residuals, of their Jacobian, and of sparse matrices as vectors of their entries.
    AnyVector: TypeAlias = Float[Array, " _"]
    Jacobian: TypeAlias = Float[Array, "residuals dim"]
    ResidualMatrix: TypeAlias = Float[Array, "residuals residuals"]
    Compressed: TypeAlias = Float[Array, " compressed"]
    Entries: TypeAlias = Float[Array, " entries"]
else:
    Scalar = Scalars = Vector = Vectors = Matrix = Count = Flag = PRNGKey = jax.Array
    Positions = PerPosition = Directions = PerDirection = Spectra = jax.Array
    AnyVector = Jacobian = ResidualMatrix = Compressed = Entries = jax.Array

ScalarLike: TypeAlias = Scalar | float
"""One number, as an array or as Python writes it."""

CountLike: TypeAlias = Count | int
"""The same of an integer."""

PyTree: TypeAlias = Any
"""Any nesting of dicts, tuples and dataclasses of arrays: a model's parameters as their author wrote them."""

LogDensity: TypeAlias = Callable[[Any], Any]
"""Position to unnormalised log density. Inside the library positions are flat vectors."""
