"""Kernels of a logistic regression for NVIDIA's GPUs, in Triton: the logits of a block of chains stay on the chip.

Each block of chains goes through the observations, some at a time, and adds up what they give. Tensor cores multiply
factors as sums of parts of 11 bits (`tf32x3`), so that products have the full single precision.
"""

from typing import Any, NamedTuple

import jax
import jax_triton
import triton
import triton.language as tl

_LOG_2, _FACTORS = tl.constexpr(0.6931471805599453), tl.constexpr(64)
"""The most factors between 1 and 2 that are multiplied before a logarithm is taken, far from overflow."""


class _Block(NamedTuple):
    """How much of the work one block of threads does at a time."""

    chains: int
    observations: int
    warps: int


def value_and_gradient(beta: jax.Array, features: jax.Array, precision: float) -> tuple[jax.Array, jax.Array]:
    """ℓ and ∇ℓ at each row of β."""
    shapes = (jax.ShapeDtypeStruct(beta.shape[:1], beta.dtype), jax.ShapeDtypeStruct(beta.shape, beta.dtype))
    value, gradient = _call(_value_and_gradient, (beta, features), precision, shapes)
    return value, gradient


def hessian_times(
    beta: jax.Array, features: jax.Array, vectors: tuple[jax.Array, ...], precision: float
) -> tuple[jax.Array, ...]:
    """H v for each row of β and of each v, two of these at a time."""
    shape = jax.ShapeDtypeStruct(beta.shape, beta.dtype)
    products: list[jax.Array] = []
    for first in range(0, len(vectors), 2):
        part = vectors[first : first + 2]
        kernel = _two_products if len(part) == 2 else _product
        products += _call(kernel, (beta, features, *part), precision, (shape,) * len(part))
    return tuple(products)


def _call(kernel: Any, arrays: tuple[jax.Array, ...], precision: float, shapes: tuple[Any, ...]) -> Any:
    (chains, coefficients), observations = arrays[0].shape, arrays[1].shape[0]
    block = _block(chains)
    return jax_triton.triton_call(
        *arrays,
        kernel=kernel,
        grid=triton.cdiv(chains, block.chains),
        out_shape=shapes,
        num_warps=block.warps,
        num_stages=1,
        precision=precision,
        chains=chains,
        coefficients=coefficients,
        observations=observations,
        width=max(16, triton.next_power_of_2(coefficients)),
        CHAINS=block.chains,
        OBSERVATIONS=block.observations,
    )


def _block(chains: int) -> _Block:
    """What was fastest on an H200: few chains need smaller blocks, so that each of its processors has one."""
    return _Block(64, 64, 4) if chains >= 8192 else _Block(32, 32, 2)


@triton.jit
def _places(chains: tl.constexpr, coefficients: tl.constexpr, width: tl.constexpr, CHAINS: tl.constexpr):
    """Where the coefficients of a block's chains lie, and which of these places there are."""
    row = tl.program_id(0) * CHAINS + tl.arange(0, CHAINS)[:, None]
    column = tl.arange(0, width)[None, :]
    return row * coefficients + column, (row < chains) & (column < coefficients)


@triton.jit
def _some_features(
    features, first, coefficients: tl.constexpr, observations: tl.constexpr, width: tl.constexpr, COUNT: tl.constexpr
):
    """Features of some observations, one a row, and 0 where there are none."""
    row, column = first + tl.arange(0, COUNT)[:, None], tl.arange(0, width)[None, :]
    there = (row < observations) & (column < coefficients)
    return tl.load(features + row * coefficients + column, mask=there, other=0.0)


@triton.jit
def _small_exponential(margins):
    """exp(−|m|), which is at most 1."""
    return tl.exp2(-1.4426950408889634 * tl.abs(margins))


@triton.jit
def _reciprocal(numbers):
    """1/y, of numbers from 1 to 2, to a unit in the last place: a division takes several times as long."""
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [numbers], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def _value_and_gradient(
    beta_array,
    features,
    values,
    gradients,
    precision: tl.constexpr,
    chains: tl.constexpr,
    coefficients: tl.constexpr,
    observations: tl.constexpr,
    width: tl.constexpr,
    CHAINS: tl.constexpr,
    OBSERVATIONS: tl.constexpr,
):
    place, there = _places(chains, coefficients, width, CHAINS)
    beta = tl.load(beta_array + place, mask=there, other=0.0)
    gradient = -precision * beta
    value = tl.zeros((CHAINS, OBSERVATIONS), tl.float32)
    for start in range(0, observations, _FACTORS * OBSERVATIONS):
        factors = tl.full((CHAINS, OBSERVATIONS), 1.0, tl.float32)
        for first in range(start, min(start + _FACTORS * OBSERVATIONS, observations), OBSERVATIONS):
            some = _some_features(features, first, coefficients, observations, width, OBSERVATIONS)
            margins = tl.dot(beta, tl.trans(some), input_precision="tf32x3")
            small = _small_exponential(margins)
            value += tl.minimum(margins, 0.0)
            factors *= 1.0 + small
            falling = tl.where(margins >= 0.0, small, 1.0) * _reciprocal(1.0 + small)
            gradient = tl.dot(falling, some, gradient, input_precision="tf32x3")
        value -= _LOG_2 * tl.log2(factors)
    # Rows beyond the last observation have margins of 0, and each gave −log 2.
    beyond = (-observations) % OBSERVATIONS
    total = tl.sum(value, 1) + beyond * _LOG_2 - 0.5 * precision * tl.sum(beta * beta, 1)
    row = tl.program_id(0) * CHAINS + tl.arange(0, CHAINS)
    tl.store(values + row, total, mask=row < chains)
    tl.store(gradients + place, gradient, mask=there)


@triton.jit
def _weights(beta, some):
    """−σ(m) σ(−m) of each chain and observation."""
    small = _small_exponential(tl.dot(beta, tl.trans(some), input_precision="tf32x3"))
    share = _reciprocal(1.0 + small)
    return -small * share * share


@triton.jit
def _product(
    beta_array,
    features,
    vectors,
    products,
    precision: tl.constexpr,
    chains: tl.constexpr,
    coefficients: tl.constexpr,
    observations: tl.constexpr,
    width: tl.constexpr,
    CHAINS: tl.constexpr,
    OBSERVATIONS: tl.constexpr,
):
    place, there = _places(chains, coefficients, width, CHAINS)
    beta = tl.load(beta_array + place, mask=there, other=0.0)
    vector = tl.load(vectors + place, mask=there, other=0.0)
    product = -precision * vector
    for first in range(0, observations, OBSERVATIONS):
        some = _some_features(features, first, coefficients, observations, width, OBSERVATIONS)
        weighted = _weights(beta, some) * tl.dot(vector, tl.trans(some), input_precision="tf32x3")
        product = tl.dot(weighted, some, product, input_precision="tf32x3")
    tl.store(products + place, product, mask=there)


@triton.jit
def _two_products(
    beta_array,
    features,
    first_vectors,
    second_vectors,
    first_products,
    second_products,
    precision: tl.constexpr,
    chains: tl.constexpr,
    coefficients: tl.constexpr,
    observations: tl.constexpr,
    width: tl.constexpr,
    CHAINS: tl.constexpr,
    OBSERVATIONS: tl.constexpr,
):
    place, there = _places(chains, coefficients, width, CHAINS)
    beta = tl.load(beta_array + place, mask=there, other=0.0)
    one = tl.load(first_vectors + place, mask=there, other=0.0)
    two = tl.load(second_vectors + place, mask=there, other=0.0)
    product_of_one, product_of_two = -precision * one, -precision * two
    for first in range(0, observations, OBSERVATIONS):
        some = _some_features(features, first, coefficients, observations, width, OBSERVATIONS)
        weights = _weights(beta, some)
        weighted = weights * tl.dot(one, tl.trans(some), input_precision="tf32x3")
        product_of_one = tl.dot(weighted, some, product_of_one, input_precision="tf32x3")
        weighted = weights * tl.dot(two, tl.trans(some), input_precision="tf32x3")
        product_of_two = tl.dot(weighted, some, product_of_two, input_precision="tf32x3")
    tl.store(first_products + place, product_of_one, mask=there)
    tl.store(second_products + place, product_of_two, mask=there)
