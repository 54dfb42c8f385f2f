"""Stan's log density as an operation of JAX's own, which it can batch and derive, forwards and backwards.

Stan has values, gradients and products with Hessians. They are primitives, and not functions with rules of their own
(`jax.custom_jvp`), since only a primitive can say that a Hessian is its own transpose. Third derivatives are
differences of products; there are no fourth ones, and what would need them is NaN.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from mongepatch._typing import Scalar, Vector
from mongepatch.frontends.stan.callbacks import Number, call

_gradients = Primitive("stan_gradients")
_gradients.multiple_results = True
_products = Primitive("stan_products")
_thirds = Primitive("stan_third_derivatives")


def log_density(engine: str, number: Number, x: Vector) -> Scalar:
    """ℓ at an unconstrained position."""
    value: Scalar = _gradients.bind(number, x, engine=engine)[0]
    return value


def _value_and_gradient(number: Number, x: jax.Array, *, engine: str) -> tuple[jax.Array, ...]:
    return call(engine, "gradients", number, x)


def _product(number: Number, x: jax.Array, v: jax.Array, *, engine: str) -> jax.Array:
    return call(engine, "products", number, x, v)[0]


def _third(number: Number, x: jax.Array, v: jax.Array, u: jax.Array, *, engine: str) -> jax.Array:
    """The derivative of Hv along u, from products a little ahead and behind."""
    length = jnp.max(jnp.abs(u) / jnp.maximum(jnp.abs(x), 1.0), axis=-1, keepdims=True)
    step = np.finfo(x.dtype).eps ** (1 / 3) / jnp.where(length > 0, length, 1.0)
    ahead, behind = (_product(number, x + side * step * u, v, engine=engine) for side in (1.0, -1.0))
    return (ahead - behind) / (2.0 * step)


def _gradients_shapes(number: Any, x: Any, *, engine: str) -> tuple[ShapedArray, ShapedArray]:
    return ShapedArray(x.shape[:-1], x.dtype), ShapedArray(x.shape, x.dtype)


def _shape_of_x(number: Any, x: Any, *_: Any, engine: str) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype)


def _gradients_jvp(primals: Any, tangents: Any, *, engine: str) -> Any:
    (number, x), (_, v) = primals, tangents
    value, gradient = _gradients.bind(number, x, engine=engine)
    return (value, gradient), ((gradient * v).sum(-1), _products.bind(number, x, v, engine=engine))


def _products_jvp(primals: Any, tangents: Any, *, engine: str) -> Any:
    (number, x, v), (_, x_change, v_change) = primals, tangents
    changes = []
    if not isinstance(x_change, ad.Zero):
        changes.append(_thirds.bind(number, x, v, x_change, engine=engine))
    if not isinstance(v_change, ad.Zero):
        changes.append(_products.bind(number, x, v_change, engine=engine))
    return _products.bind(number, x, v, engine=engine), sum(changes)


def _thirds_jvp(primals: Any, tangents: Any, *, engine: str) -> Any:
    (number, x, v, u), (_, x_change, v_change, u_change) = primals, tangents
    changes = []
    if not isinstance(x_change, ad.Zero):
        changes.append(jnp.nan * x_change)
    if not isinstance(v_change, ad.Zero):
        changes.append(_thirds.bind(number, x, v_change, u, engine=engine))
    if not isinstance(u_change, ad.Zero):
        changes.append(_thirds.bind(number, x, v, u_change, engine=engine))
    return _thirds.bind(number, x, v, u, engine=engine), sum(changes)


def _transposed(primitive: Primitive) -> Any:
    """Derivatives are symmetric: what comes back takes the place of the vector that is not there."""

    def rule(back: Any, number: Any, x: Any, *vectors: Any, engine: str) -> Any:
        absent = [ad.is_undefined_primal(vector) for vector in vectors]
        if isinstance(back, ad.Zero):
            return (None, None, *(ad.Zero(v.aval) if gone else None for v, gone in zip(vectors, absent, strict=True)))
        filled = [back if gone else vector for vector, gone in zip(vectors, absent, strict=True)]
        product = primitive.bind(number, x, *filled, engine=engine)
        return (None, None, *(product if gone else None for gone in absent))

    return rule


def _batched(primitive: Primitive) -> Any:
    """One call for all: every operand but the model's number gets the new axis in front."""

    def rule(operands: Any, axes: Any, *, engine: str) -> Any:
        pairs = list(zip(operands, axes, strict=True))
        size = next(operand.shape[axis] for operand, axis in pairs if axis is not None)
        number = operands[0] if axes[0] is None else jnp.take(operands[0], 0, axis=axes[0])
        arrays = [batching.bdim_at_front(operand, axis, size) for operand, axis in pairs[1:]]
        made = primitive.bind(number, *arrays, engine=engine)
        return made, ((0,) * len(made) if primitive.multiple_results else 0)

    return rule


for _primitive, _function, _shapes, _jvp in (
    (_gradients, _value_and_gradient, _gradients_shapes, _gradients_jvp),
    (_products, _product, _shape_of_x, _products_jvp),
    (_thirds, _third, _shape_of_x, _thirds_jvp),
):
    _primitive.def_impl(_function)
    _primitive.def_abstract_eval(_shapes)
    ad.primitive_jvps[_primitive] = _jvp
    batching.primitive_batchers[_primitive] = _batched(_primitive)
    mlir.register_lowering(_primitive, mlir.lower_fun(_function, multiple_results=_primitive.multiple_results))
for _primitive in (_products, _thirds):
    ad.primitive_transposes[_primitive] = _transposed(_primitive)
