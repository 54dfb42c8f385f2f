"""A logistic regression's log density as JAX primitives, for accelerators.

    ℓ(β) = Σ log σ(β·fᵢ) − ½ p β·β

Written in JAX, it makes arrays of chains × observations and reads them again, which is what a gradient of thousands of
chains takes its time for. As primitives, value and gradient are one operation, and so are products of the Hessian with
several vectors. NVIDIA's GPUs have a kernel for each (`logistic_kernels`); elsewhere they are the formulas below.
"""

import importlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.custom_derivatives import SymbolicZero
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import AxisType

from mongepatch._typing import Scalar, Vector
from mongepatch.program import takes_several_vectors
from mongepatch.targets.bernoulli import bernoulli_log_likelihood

LEAST_CHAINS, MOST_COEFFICIENTS, LEAST_CAPABILITY = 4096, 32, 8.0
"""Where kernels are used. Fewer chains leave most of a GPU idle, since a block of chains goes through all observations.
With more coefficients matrix products take most of the time, and these are best made by themselves. Triton compiles for
GPUs of compute capability 8.0 (Ampere) and later."""

_gradients = Primitive("logistic_gradients")
_products = Primitive("logistic_products")
_gradients.multiple_results = _products.multiple_results = True


def log_density(beta: Vector, features: jax.Array, precision: float) -> Scalar:
    """ℓ at β. Its derivatives are the primitives; its value is the formula, which residuals can be read off.

    Args:
        beta: the coefficients.
        features: f, an N × D matrix: those of outcome 1 as they are, those of outcome 0 with the other sign.
        precision: p, of the prior of every coefficient.
    """
    beta = jnp.asarray(beta, jnp.result_type(beta, features))
    by_formula = any(map(_type_says_where, (beta, features)))
    value: Scalar = (_value if by_formula else _value_with_primitives)(beta, features, precision)
    return value


def _type_says_where(array: jax.Array) -> bool:
    """Whether its type says how it is divided among devices, which those of the primitives' results do not."""
    kind = jax.typeof(array)
    manual = getattr(kind, "manual_axis_type", None)  # from JAX 0.10 on; `vma` before
    varies = getattr(kind, "vma", ()) if manual is None else manual.varying
    return bool(varies) or AxisType.Explicit in kind.sharding.mesh.axis_types


def _value(beta: jax.Array, features: jax.Array, precision: float) -> jax.Array:
    return _value_and_gradient(beta, features, precision=precision)[0]


_value_with_primitives = jax.custom_jvp(_value, nondiff_argnums=(2,))


@partial(_value_with_primitives.defjvp, symbolic_zeros=True)
def _value_jvp(precision: float, primals: Any, tangents: Any) -> Any:
    (beta, features), (along, of_features) = primals, tangents
    if not isinstance(of_features, SymbolicZero):
        tangents = tuple(jnp.zeros(t.shape, t.dtype) if isinstance(t, SymbolicZero) else t for t in tangents)
        return jax.jvp(partial(_value, precision=precision), primals, tangents)
    value, gradient = _gradients.bind(beta, features, precision=precision)
    return value, (gradient * along).sum(-1)


def _value_and_gradient(beta: jax.Array, features: jax.Array, *, precision: float) -> tuple[jax.Array, jax.Array]:
    """ℓ and ∇ℓ = Σ σ(−mᵢ) fᵢ − p β with the margins mᵢ = β·fᵢ, for one or many β along the leading axes."""
    margins = beta @ features.T
    value = _of_each(lambda m: bernoulli_log_likelihood(m, jnp.ones((), m.dtype)), margins)
    gradient = jax.nn.sigmoid(-margins) @ features
    return value - 0.5 * precision * (beta * beta).sum(-1), gradient - precision * beta


def _of_each(function: Callable[[jax.Array], jax.Array], array: jax.Array) -> jax.Array:
    """A function of vectors at each vector along the last axis."""
    for _ in array.shape[:-1]:
        function = jax.vmap(function)
    return function(array)


def _hessian_times(
    beta: jax.Array, features: jax.Array, *vectors: jax.Array, precision: float
) -> tuple[jax.Array, ...]:
    """H v = −Σ σ(mᵢ) σ(−mᵢ) (fᵢ·v) fᵢ − p v, of each vector."""
    up = jax.nn.sigmoid(beta @ features.T)
    weights = -up * (1.0 - up)
    return tuple((weights * (vector @ features.T)) @ features - precision * vector for vector in vectors)


def _shapes_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The shapes of a formula's results; operands whose shapes do not fit are refused."""

    def shapes(*operands: Any, precision: float) -> tuple[ShapedArray, ...]:
        given = [jax.ShapeDtypeStruct(operand.shape, operand.dtype) for operand in operands]
        found = jax.eval_shape(partial(function, precision=precision), *given)
        return tuple(ShapedArray(result.shape, result.dtype) for result in found)

    return shapes


def _gradients_jvp(primals: Any, tangents: Any, *, precision: float) -> Any:
    (beta, features), (along, of_features) = primals, tangents
    if not isinstance(of_features, ad.Zero):
        return _jvp_of(_value_and_gradient, primals, tangents, precision)
    value, gradient = _gradients.bind(beta, features, precision=precision)
    (product,) = _products.bind(beta, features, along, precision=precision)
    return (value, gradient), ((gradient * along).sum(-1), product)


def _products_jvp(primals: Any, tangents: Any, *, precision: float) -> Any:
    beta, features, *_ = primals
    if all(isinstance(tangent, ad.Zero) for tangent in tangents[:2]):  # products are linear in their vectors
        along = map(ad.instantiate_zeros, tangents[2:])
        return tuple(_products.bind(*given, precision=precision) for given in (primals, (beta, features, *along)))
    return _jvp_of(_hessian_times, primals, tangents, precision)


def _jvp_of(function: Callable[..., Any], primals: Any, tangents: Any, precision: float) -> Any:
    """Values and derivatives of one of the formulas."""
    return jax.jvp(
        lambda *operands: function(*operands, precision=precision),
        tuple(primals),
        tuple(map(ad.instantiate_zeros, tangents)),
    )


def _products_transpose(cotangents: Any, beta: Any, features: Any, *vectors: Any, precision: float) -> Any:
    """A Hessian is symmetric: the cotangent of a product takes the place of its vector."""
    pairs = enumerate(zip(cotangents, vectors, strict=True))
    places = [n for n, (given, v) in pairs if ad.is_undefined_primal(v) and not isinstance(given, ad.Zero)]
    products = _products.bind(beta, features, *(cotangents[n] for n in places), precision=precision) if places else ()
    found = dict(zip(places, products, strict=True))
    return (None, None, *(found.get(n) for n in range(len(vectors))))


def _batched(primitive: Primitive, function: Callable[..., Any]) -> Any:
    """One operation for the whole batch, whose axis comes first.

    By the formula where features differ, and where vectors do at one β: kernels would compute its weights for each.
    """

    def rule(operands: Sequence[Any], axes: Sequence[Any], *, precision: float) -> Any:
        if axes[0] is None or axes[1] is not None:
            results = jax.vmap(lambda *own: function(*own, precision=precision), axes)(*operands)
            return results, (0,) * len(results)
        size = next(operand.shape[axis] for operand, axis in zip(operands, axes, strict=True) if axis is not None)
        arrays = [
            operand if number == 1 else batching.bdim_at_front(operand, axis, size)
            for number, (operand, axis) in enumerate(zip(operands, axes, strict=True))
        ]
        results = primitive.bind(*arrays, precision=precision)
        return results, (0,) * len(results)

    return rule


def _gradients_on_gpu(beta: jax.Array, features: jax.Array, *, precision: float) -> tuple[jax.Array, ...]:
    kernels = _kernels_for(beta, features)
    if kernels is None:
        return _value_and_gradient(beta, features, precision=precision)
    value, gradient = kernels.value_and_gradient(_rows(beta), features, precision)
    return value.reshape(beta.shape[:-1]), gradient.reshape(beta.shape)


def _products_on_gpu(
    beta: jax.Array, features: jax.Array, *vectors: jax.Array, precision: float
) -> tuple[jax.Array, ...]:
    kernels = _kernels_for(beta, features)
    if kernels is None:
        return _hessian_times(beta, features, *vectors, precision=precision)
    products = kernels.hessian_times(_rows(beta), features, tuple(map(_rows, vectors)), precision)
    return tuple(product.reshape(beta.shape) for product in products)


def _rows(array: jax.Array) -> jax.Array:
    return array.reshape(-1, array.shape[-1])


def _kernels_for(beta: jax.Array, features: jax.Array) -> Any:
    """The module of kernels where they can be used, else None."""
    single = beta.dtype == features.dtype == jnp.float32
    few = beta.shape[-1] <= MOST_COEFFICIENTS and max(beta.size, features.size) < 2**31  # places are 32-bit integers
    many = beta.size >= LEAST_CHAINS * beta.shape[-1]
    return _kernels() if single and few and many else None


@cache
def _kernels() -> Any:
    """The module of kernels, where `jax-triton` is installed and fits JAX and the GPU, else None."""
    try:
        if float(jax.devices("gpu")[0].compute_capability) < LEAST_CAPABILITY:
            return None
    except RuntimeError:  # there is no GPU here: the program is for another machine
        return None
    try:
        return importlib.import_module("mongepatch.targets.logistic_kernels")
    except (AttributeError, ImportError):  # the former where versions do not fit
        return None


for _primitive, _function, _on_gpu, _jvp in (
    (_gradients, _value_and_gradient, _gradients_on_gpu, _gradients_jvp),
    (_products, _hessian_times, _products_on_gpu, _products_jvp),
):
    _primitive.def_impl(jax.jit(_primitive.bind, static_argnames="precision"))
    _primitive.def_abstract_eval(_shapes_of(_function))
    ad.primitive_jvps[_primitive] = _jvp
    batching.primitive_batchers[_primitive] = _batched(_primitive, _function)
    mlir.register_lowering(_primitive, mlir.lower_fun(_function, multiple_results=True))
    mlir.register_lowering(_primitive, mlir.lower_fun(_on_gpu, multiple_results=True), platform="cuda")
ad.primitive_transposes[_products] = _products_transpose
takes_several_vectors(_products, after=2)
