"""A compiled Stan model as something that compiled JAX programs can call.

Programs hold a number in the model's place, as an argument. So the same model with other data shares its compilations,
and other data never meets an old program. On a CPU, XLA calls a library of ours directly; elsewhere, and for libraries
of others, it calls back into Python.
"""

import zlib
from typing import Any, Literal, TypeAlias
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import AnyVector, Vector
from mongepatch.frontends.stan.backend import Backend

Number: TypeAlias = jax.Array
"""What programs know a model by: an array of shape [1]."""
Function: TypeAlias = Literal["gradients", "products"]
"""What can be called."""

_models: WeakValueDictionary[int, Backend] = WeakValueDictionary()


def register(model: Backend) -> Number:
    """The number by which callbacks find a model, for as long as somebody holds the model."""
    _models[model.number] = model
    # Of shape [1]: JAX writes scalars into programs, which would then differ from model to model.
    return jnp.array([model.number], jnp.uint32)


def engine_of(model: Backend) -> str:
    """The library that XLA is to call; empty for callbacks."""
    return model.library if jax.default_backend() == "cpu" else ""


def call(engine: str, function: Function, number: Number, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    """Ask a model for "gradients", of values and their gradients, or for "products", at positions [..., dimension]."""
    x = arrays[0]
    like_x = jax.ShapeDtypeStruct(x.shape, x.dtype)
    shapes = (jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), like_x) if function == "gradients" else (like_x,)
    made: Any
    if engine:
        made = jax.ffi.ffi_call(f"{engine}_{function}_{x.dtype}", shapes)(number, *arrays)
    else:
        made = jax.pure_callback(_gradients if function == "gradients" else _products, shapes, number, *arrays)
    return tuple(made)


def draw_of(number: Number, x: Vector, width: int, seed: int) -> AnyVector:
    """All scalars of a draw at a position. What is random in it is a function of the seed and the position."""
    shape = jax.ShapeDtypeStruct((width,), x.dtype)
    return jax.pure_callback(_constrained, shape, number, jnp.uint32(seed), x, vmap_method="broadcast_all")


def _gradients(number: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    values, gradients = _model(number).gradients(_rows(x))
    return values.reshape(x.shape[:-1]).astype(x.dtype), gradients.reshape(x.shape).astype(x.dtype)


def _products(number: Any, x: Any, v: Any) -> tuple[np.ndarray]:
    return (_model(number).products(_rows(x), _rows(v)).reshape(x.shape).astype(x.dtype),)


def _constrained(number: Any, seed: Any, x: Any) -> np.ndarray:
    rows, first = _rows(x), int(np.asarray(seed).flat[0])
    seeds = np.array([zlib.crc32(row.tobytes(), first) for row in rows], np.uint32)
    return _model(number).constrain(rows, seeds).reshape(*x.shape[:-1], -1).astype(x.dtype)


def _model(number: Any) -> Backend:
    return _models[int(np.asarray(number).flat[0])]


def _rows(x: Any) -> np.ndarray:
    array = np.asarray(x, float)
    return np.ascontiguousarray(array.reshape(-1, array.shape[-1]))
