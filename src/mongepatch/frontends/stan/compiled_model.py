"""A compiled Stan model: its interface, and calls of it from compiled JAX programs.

JAX programs take the id of a model as an argument. So the same Stan program with other data shares their compilations,
and a compiled program never uses outdated data. On a CPU, XLA calls a library that this package compiled directly. On
other devices, and for libraries that others compiled, XLA calls back into Python.
"""

import itertools
import zlib
from typing import Any, Literal, Protocol, TypeAlias
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector, Vector

ModelId: TypeAlias = jax.Array
"""The id of a model in JAX programs: an array of shape [1]."""
Function: TypeAlias = Literal["gradients", "products"]
"""Functions of a model that JAX programs can call."""

model_ids = itertools.count()
"""An id for each model of this process."""


class CompiledModel(Protocol):
    """A compiled Stan program with its data. Positions are rows of unconstrained coordinates, in double precision."""

    model_id: int
    """The id by which JAX programs find the model."""
    library: str
    """Prefix of the names of functions that XLA can call without Python; empty if there are none."""
    description: str
    """Who compiled the model, and how Hessian-vector products are computed."""
    dimension: int
    """Number of unconstrained coordinates."""
    columns: tuple[str, ...]
    """Stan's names of all scalars of a draw: parameters, transformed parameters, generated quantities."""

    def gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log densities [row] and their gradients [row, dimension]; −∞ and NaN where Stan rejects a position."""

    def products(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Hessians at the rows of x times the rows of v."""

    def constrain(self, x: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """The scalars of a draw [row, column], with one random seed per row."""


_models: WeakValueDictionary[int, CompiledModel] = WeakValueDictionary()


def register(model: CompiledModel) -> ModelId:
    """Register a model for callbacks, for as long as it exists elsewhere, and return its id."""
    _models[model.model_id] = model
    # Of shape [1], since JAX makes scalars part of programs, which would then differ from model to model.
    return jnp.array([model.model_id], jnp.uint32)


def ffi_library(model: CompiledModel) -> str:
    """The library that XLA calls directly; empty if it calls back into Python."""
    return model.library if jax.default_backend() == "cpu" else ""


def call(library: str, function: Function, model_id: ModelId, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    """Call a function of a model at positions [..., dimension].

    "gradients" takes positions, and returns log densities and gradients. "products" takes positions and vectors, and
    returns Hessian-vector products.
    """
    x = arrays[0]
    like_x = jax.ShapeDtypeStruct(x.shape, x.dtype)
    shapes = (jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), like_x) if function == "gradients" else (like_x,)
    results: Any
    if library:
        results = jax.ffi.ffi_call(f"{library}_{function}_{x.dtype}", shapes)(model_id, *arrays)
    else:
        results = jax.pure_callback(_gradients if function == "gradients" else _products, shapes, model_id, *arrays)
    return tuple(results)


def constrained_draw(model_id: ModelId, x: Vector, width: int, seed: int) -> AnyVector:
    """All scalars of the draw at a position. Its random numbers are a function of the seed and the position."""
    shape = jax.ShapeDtypeStruct((width,), x.dtype)
    return jax.pure_callback(constrained, shape, model_id, jnp.uint32(seed), x, vmap_method="broadcast_all")


def _gradients(model_id: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    values, gradients = _model(model_id).gradients(_rows(x))
    return values.reshape(x.shape[:-1]).astype(x.dtype), gradients.reshape(x.shape).astype(x.dtype)


def _products(model_id: Any, x: Any, v: Any) -> tuple[np.ndarray]:
    return (_model(model_id).products(_rows(x), _rows(v)).reshape(x.shape).astype(x.dtype),)


def constrained(model_id: Any, seed: Any, x: Any) -> np.ndarray:
    """The same at positions [..., dimension], without JAX."""
    rows, base_seed = _rows(x), int(np.asarray(seed).flat[0])
    seeds = np.array([zlib.crc32(row.tobytes(), base_seed) for row in rows], np.uint32)
    return _model(model_id).constrain(rows, seeds).reshape(*x.shape[:-1], -1).astype(x.dtype)


def _model(model_id: Any) -> CompiledModel:
    return _models[int(np.asarray(model_id).flat[0])]


def _rows(x: Any) -> np.ndarray:
    array = np.asarray(x, float)
    return np.ascontiguousarray(array.reshape(-1, array.shape[-1]))
