"""Stan's log density as a JAX primitive, which JAX can batch and differentiate in forward and reverse mode.

Stan computes values, gradients and Hessian-vector products. They are primitives, and not functions with rules of their
own (`jax.custom_jvp`), since only a primitive can state that a Hessian is its own transpose. Third derivatives are
differences of Hessian-vector products. There are no fourth derivatives: what depends on them is NaN.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from mongepatch._typing import Scalar, Vector
from mongepatch.frontends.stan.compiled_model import ModelId, call

_gradients = Primitive("stan_gradients")
_gradients.multiple_results = True
_products = Primitive("stan_products")
_third_derivatives = Primitive("stan_third_derivatives")


def log_density(library: str, model_id: ModelId, x: Vector) -> Scalar:
    """ℓ at an unconstrained position."""
    value: Scalar = _gradients.bind(model_id, x, library=library)[0]
    return value


def _value_and_gradient(model_id: ModelId, x: jax.Array, *, library: str) -> tuple[jax.Array, ...]:
    return call(library, "gradients", model_id, x)


def _product(model_id: ModelId, x: jax.Array, v: jax.Array, *, library: str) -> jax.Array:
    return call(library, "products", model_id, x, v)[0]


def _third_derivative(model_id: ModelId, x: jax.Array, v: jax.Array, u: jax.Array, *, library: str) -> jax.Array:
    """The derivative of Hv along u, by a central difference of Hessian-vector products."""
    length = jnp.max(jnp.abs(u) / jnp.maximum(jnp.abs(x), 1.0), axis=-1, keepdims=True)
    step = np.finfo(x.dtype).eps ** (1 / 3) / jnp.where(length > 0, length, 1.0)
    ahead, behind = (_product(model_id, x + side * step * u, v, library=library) for side in (1.0, -1.0))
    return (ahead - behind) / (2.0 * step)


def _gradients_shapes(model_id: Any, x: Any, *, library: str) -> tuple[ShapedArray, ShapedArray]:
    return ShapedArray(x.shape[:-1], x.dtype), ShapedArray(x.shape, x.dtype)


def _shape_of_x(model_id: Any, x: Any, *_: Any, library: str) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype)


def _gradients_jvp(primals: Any, tangents: Any, *, library: str) -> Any:
    (model_id, x), (_, v) = primals, tangents
    value, gradient = _gradients.bind(model_id, x, library=library)
    return (value, gradient), ((gradient * v).sum(-1), _products.bind(model_id, x, v, library=library))


def _products_jvp(primals: Any, tangents: Any, *, library: str) -> Any:
    (model_id, x, v), (_, x_tangent, v_tangent) = primals, tangents
    terms = []
    if not isinstance(x_tangent, ad.Zero):
        terms.append(_third_derivatives.bind(model_id, x, v, x_tangent, library=library))
    if not isinstance(v_tangent, ad.Zero):
        terms.append(_products.bind(model_id, x, v_tangent, library=library))
    return _products.bind(model_id, x, v, library=library), sum(terms)


def _third_derivatives_jvp(primals: Any, tangents: Any, *, library: str) -> Any:
    (model_id, x, v, u), (_, x_tangent, v_tangent, u_tangent) = primals, tangents
    terms = []
    if not isinstance(x_tangent, ad.Zero):
        terms.append(jnp.nan * x_tangent)
    if not isinstance(v_tangent, ad.Zero):
        terms.append(_third_derivatives.bind(model_id, x, v_tangent, u, library=library))
    if not isinstance(u_tangent, ad.Zero):
        terms.append(_third_derivatives.bind(model_id, x, v, u_tangent, library=library))
    return _third_derivatives.bind(model_id, x, v, u, library=library), sum(terms)


def _transposed(primitive: Primitive) -> Any:
    """Derivatives are symmetric: the cotangent takes the place of the undefined vector."""

    def rule(cotangent: Any, model_id: Any, x: Any, *vectors: Any, library: str) -> Any:
        undefined = [ad.is_undefined_primal(vector) for vector in vectors]
        if isinstance(cotangent, ad.Zero):
            return (
                None,
                None,
                *(ad.Zero(v.aval) if missing else None for v, missing in zip(vectors, undefined, strict=True)),
            )
        filled = [cotangent if missing else vector for vector, missing in zip(vectors, undefined, strict=True)]
        product = primitive.bind(model_id, x, *filled, library=library)
        return (None, None, *(product if missing else None for missing in undefined))

    return rule


def _batched(primitive: Primitive) -> Any:
    """One call for the whole batch: every operand except the model's id gets the new axis in front."""

    def rule(operands: Any, axes: Any, *, library: str) -> Any:
        pairs = list(zip(operands, axes, strict=True))
        size = next(operand.shape[axis] for operand, axis in pairs if axis is not None)
        model_id = operands[0] if axes[0] is None else jnp.take(operands[0], 0, axis=axes[0])
        arrays = [batching.bdim_at_front(operand, axis, size) for operand, axis in pairs[1:]]
        results = primitive.bind(model_id, *arrays, library=library)
        return results, ((0,) * len(results) if primitive.multiple_results else 0)

    return rule


for _primitive, _function, _shapes, _jvp in (
    (_gradients, _value_and_gradient, _gradients_shapes, _gradients_jvp),
    (_products, _product, _shape_of_x, _products_jvp),
    (_third_derivatives, _third_derivative, _shape_of_x, _third_derivatives_jvp),
):
    _primitive.def_impl(_function)
    _primitive.def_abstract_eval(_shapes)
    ad.primitive_jvps[_primitive] = _jvp
    batching.primitive_batchers[_primitive] = _batched(_primitive)
    mlir.register_lowering(_primitive, mlir.lower_fun(_function, multiple_results=_primitive.multiple_results))
for _primitive in (_products, _third_derivatives):
    ad.primitive_transposes[_primitive] = _transposed(_primitive)
