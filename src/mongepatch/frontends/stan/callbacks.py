"""A compiled Stan model as functions that JAX can trace, batch and derive twice.

Programs hold a number in the model's place, as an argument. So the same model with other data shares its compilations,
and other data never meets an old program. On a CPU, XLA calls a library of ours directly; elsewhere, and for libraries
of others, it calls back into Python.
"""

import zlib
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from mongepatch._typing import Scalar, Vector
from mongepatch.errors import LogDensityError
from mongepatch.frontends.stan.backend import Backend

Number: TypeAlias = jax.Array

_models: WeakValueDictionary[int, Backend] = WeakValueDictionary()


def register(model: Backend) -> Number:
    """The number by which callbacks find a model, for as long as somebody holds the model."""
    _models[model.number] = model
    # Of shape [1]: JAX writes scalars into programs, which would then differ from model to model.
    return jnp.array([model.number], jnp.uint32)


def engine_of(model: Backend) -> str:
    """The library that XLA is to call; empty for callbacks."""
    return model.library if jax.default_backend() == "cpu" else ""


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def log_density(engine: str, number: Number, x: Vector) -> Scalar:
    """ℓ at an unconstrained position."""
    return _value_and_gradient(engine, number, x)[0]


@log_density.defjvp
def _log_density_jvp(engine: str, primals: Any, tangents: Any) -> tuple[Scalar, Scalar]:
    value, gradient = _value_and_gradient(engine, *primals)
    return value, gradient @ tangents[1]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _value_and_gradient(engine: str, number: Number, x: Vector) -> tuple[Scalar, Vector]:
    shapes = (jax.ShapeDtypeStruct((), x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype))
    made: tuple[Scalar, Vector] = _call(engine, "gradients", _gradients, shapes, number, x)
    return made


@_value_and_gradient.defjvp
def _gradient_jvp(engine: str, primals: Any, tangents: Any) -> Any:
    (number, x), v = primals, tangents[1]
    value, gradient = _value_and_gradient(engine, number, x)
    return (value, gradient), (gradient @ v, _product(engine, number, x, v))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _product(engine: str, number: Number, x: Vector, v: Vector) -> Vector:
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)

    def times_hessian(_: Any, u: Vector) -> Vector:
        return _call(engine, "products", _products, shape, number, x, u)

    # Said as the solution of a symmetric system, since that is what JAX knows how to transpose and to batch alike.
    return jax.lax.custom_linear_solve(lambda u: u, v, times_hessian, symmetric=True)


def _product_jvp(engine: str, primals: Any, tangents: Any) -> tuple[Vector, Vector]:
    (number, x, v), (_, x_change, v_change) = primals, tangents
    if not isinstance(x_change, SymbolicZero):
        raise LogDensityError(
            "A density of Stan can be derived twice, and what was asked for derives it three times: take the Euclidean "
            "or the Monge metric, whose kernels need no more than products with its Hessian."
        )
    return _product(engine, number, x, v), _product(engine, number, x, v_change)


_product.defjvp(_product_jvp, symbolic_zeros=True)


def _call(engine: str, name: str, callback: Any, shapes: Any, number: Number, *arrays: jax.Array) -> Any:
    if engine:
        target = f"{engine}_{name}_{arrays[0].dtype}"
        compiled: Any = jax.ffi.ffi_call(target, shapes, vmap_method="broadcast_all")
        return compiled(number, *arrays)
    return jax.pure_callback(callback, shapes, number, *arrays, vmap_method="broadcast_all")


def draw_of(number: Number, x: Vector, width: int, seed: int) -> Vector:
    """All scalars of a draw at a position. What is random in it is a function of the seed and the position."""
    shape = jax.ShapeDtypeStruct((width,), x.dtype)
    return jax.pure_callback(_constrained, shape, number, jnp.uint32(seed), x, vmap_method="broadcast_all")


def _gradients(number: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    values, gradients = _model(number).gradients(_rows(x))
    return values.reshape(x.shape[:-1]).astype(x.dtype), gradients.reshape(x.shape).astype(x.dtype)


def _products(number: Any, x: Any, v: Any) -> np.ndarray:
    return _model(number).products(_rows(x), _rows(v)).reshape(x.shape).astype(x.dtype)


def _constrained(number: Any, seed: Any, x: Any) -> np.ndarray:
    rows, first = _rows(x), int(np.asarray(seed).flat[0])
    seeds = np.array([zlib.crc32(row.tobytes(), first) for row in rows], np.uint32)
    return _model(number).constrain(rows, seeds).reshape(*x.shape[:-1], -1).astype(x.dtype)


def _model(number: Any) -> Backend:
    return _models[int(np.asarray(number).flat[0])]


def _rows(x: Any) -> np.ndarray:
    array = np.asarray(x, float)
    return np.ascontiguousarray(array.reshape(-1, array.shape[-1]))
