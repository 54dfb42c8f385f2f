"""The log likelihood of zeros and ones given their log odds, which takes one exponential an outcome and few logarithms.

XLA computes exponentials of doubles several at a time on processors, and logarithms one by one: they are most of the
cost of a logistic regression's gradient.
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
    """Σ log σ(mᵢ) = Σ min(mᵢ, 0) − log(1 + exp(−|mᵢ|))."""
    return jnp.minimum(margins, 0.0).sum() - _sum_of_log1p(jnp.exp(-jnp.abs(margins)))


@_sum_of_log_logistic.defjvp
def _sum_of_log_logistic_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[Scalar, Scalar]:
    return _sum_of_log_logistic(*primals), (_falling(*primals) * tangents[0]).sum()


@jax.custom_jvp
def _falling(margins: jax.Array) -> jax.Array:
    """σ(−m), from the exponential that the sum takes as well; its derivative −σ(−m)σ(m) takes no further one."""
    small = jnp.exp(-jnp.abs(margins))
    return jnp.where(margins >= 0.0, small, 1.0) / (1.0 + small)


@_falling.defjvp
def _falling_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    value = _falling(*primals)
    return value, -value * (1.0 - value) * tangents[0]


def _sum_of_log1p(terms: jax.Array) -> Scalar:
    """Σ log(1 + tᵢ) of numbers from 0 to 1: of doubles on processors as logarithms of products.

    A product is off by half a unit in its last place for each factor, relative to 1, and so is a sum of as many terms.
    In single precision that would be too much for large data, and logarithms too are computed several at a time.
    """
    if terms.dtype != jnp.float64 or not terms.size or jax.default_backend() != "cpu":
        return jnp.log1p(terms).sum()
    factors = 1.0 + terms.reshape(-1)
    for _ in range(_DOUBLINGS):
        half = factors.size // 2
        if half < _FEW:
            break
        products = factors[:half] * factors[half : 2 * half]
        factors = jnp.concatenate([products, factors[-1:]]) if factors.size % 2 else products
    return jnp.log(factors).sum()
