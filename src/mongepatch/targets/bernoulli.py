"""The log likelihood of zeros and ones given their log odds, which takes one exponential an outcome and few logarithms.

XLA computes exponentials of doubles several at a time on processors, and logarithms one by one: they are most of the
cost of a logistic regression's gradient. Accelerators take less time to compute an exponential twice than to keep it.
"""

import jax
import jax.numpy as jnp

from mongepatch._typing import Scalar

_DOUBLINGS, _FEW = 9, 8
"""How often numbers are multiplied in pairs, which leaves products of 512 numbers between 1 and 2, far from overflow,
and the fewest pairs that are worth it."""


def bernoulli_log_likelihood(log_odds: jax.Array, signs: jax.Array) -> Scalar:
    """Σ log σ(sᵢzᵢ), with σ the logistic function.

    Args:
        log_odds: z, of outcome 1.
        signs: s of the same shape and precision: 1 for outcome 1, −1 for outcome 0.
    """
    return _sum_of_log_logistic(signs * log_odds)


@jax.custom_jvp
def _sum_of_log_logistic(margins: jax.Array) -> Scalar:
    """Σ log σ(mᵢ) = Σ min(mᵢ, 0) − log(1 + exp(−|mᵢ|)).

    Of doubles on processors the logarithms are those of products. A product is off by half a unit in its last place for
    each factor, relative to 1, and so is a sum of as many terms. In single precision that would be too much for large
    data, and logarithms too are computed several at a time.
    """
    least, small = jnp.minimum(margins, 0.0), jnp.exp(-jnp.abs(margins))
    if margins.dtype == jnp.float64 and _is_processor():
        return least.sum() - jnp.log(_products(1.0 + small.reshape(-1))).sum()
    return (least - jnp.log1p(small)).sum()


@_sum_of_log_logistic.defjvp
def _sum_of_log_logistic_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[Scalar, Scalar]:
    return _sum_of_log_logistic(*primals), (_falling(*primals) * tangents[0]).sum()


@jax.custom_jvp
def _falling(margins: jax.Array) -> jax.Array:
    """σ(−m), by the exponential that the sum takes as well; its derivative −σ(−m)σ(m) takes no further one."""
    if not _is_processor():
        return jax.nn.sigmoid(-margins)
    small = jnp.exp(-jnp.abs(margins))
    return jnp.where(margins >= 0.0, small, 1.0) / (1.0 + small)


@_falling.defjvp
def _falling_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    value = _falling(*primals)
    return value, -value * (1.0 - value) * tangents[0]


def _products(factors: jax.Array) -> jax.Array:
    """Numbers with the same product, each that of many factors from 1 to 2."""
    for _ in range(_DOUBLINGS):
        half = factors.size // 2
        if half < _FEW:
            break
        products = factors[:half] * factors[half : 2 * half]
        factors = jnp.concatenate([products, factors[-1:]]) if factors.size % 2 else products
    return factors


def _is_processor() -> bool:
    return jax.default_backend() == "cpu"
