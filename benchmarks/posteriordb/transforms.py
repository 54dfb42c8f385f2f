"""Stan's maps between the real line and constrained parameters, with their log Jacobians.

They are Stan's own, so that the geometry is the same as in Stan.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from mongepatch._typing import Scalar

Values: TypeAlias = Mapping[str, jax.Array]
"""Parameters by name."""
Bound: TypeAlias = float | Callable[[Values], jax.Array]
"""A bound, or a function of the constrained parameters that were declared before."""


class Transform(NamedTuple):
    """A constraint. Each function takes also the constrained parameters before, on which a bound may depend."""

    shape: tuple[int, ...]
    """Of the free parameter."""
    constrain: Callable[[jax.Array, Values], jax.Array]
    """From free to constrained."""
    log_jacobian: Callable[[jax.Array, Values], Scalar]
    """log |det ∂ constrained / ∂ free| at a free parameter."""
    free: Callable[[jax.Array, Values], jax.Array]
    """From constrained to free."""


def real(*shape: int) -> Transform:
    """No constraint."""
    return Transform(shape, lambda free, _: free, lambda free, _: jnp.zeros((), free.dtype), lambda value, _: value)


def positive(*shape: int) -> Transform:
    """Above 0: the free parameter is the logarithm."""
    return Transform(
        shape, lambda free, _: jnp.exp(free), lambda free, _: jnp.sum(free), lambda value, _: jnp.log(value)
    )


def bounded(lower: Bound, upper: Bound, *shape: int) -> Transform:
    """Between two bounds: the free parameter is the logit of the place between them."""

    def bounds(before: Values) -> tuple[jax.Array, jax.Array]:
        low, high = (bound(before) if callable(bound) else jnp.asarray(bound) for bound in (lower, upper))
        return low, high

    def constrain(free: jax.Array, before: Values) -> jax.Array:
        low, high = bounds(before)
        return low + (high - low) * jax.nn.sigmoid(free)

    def log_jacobian(free: jax.Array, before: Values) -> Scalar:
        low, high = bounds(before)
        return jnp.sum(jnp.log(high - low) + jax.nn.log_sigmoid(free) + jax.nn.log_sigmoid(-free))

    def inverse(value: jax.Array, before: Values) -> jax.Array:
        low, high = bounds(before)
        return jnp.log(value - low) - jnp.log(high - value)

    return Transform(shape, constrain, log_jacobian, inverse)


def ordered(size: int) -> Transform:
    """Increasing: the first as it is, then logarithms of the gaps."""

    def constrain(free: jax.Array, _: Values) -> jax.Array:
        return jnp.cumsum(jnp.concatenate([free[:1], jnp.exp(free[1:])]))

    def inverse(value: jax.Array, _: Values) -> jax.Array:
        return jnp.concatenate([value[:1], jnp.log(jnp.diff(value))])

    return Transform((size,), constrain, lambda free, _: jnp.sum(free[1:]), inverse)


def positive_ordered(size: int) -> Transform:
    """Increasing from above 0: logarithms of the gaps, the first of them from 0."""

    def inverse(value: jax.Array, _: Values) -> jax.Array:
        return jnp.log(jnp.diff(value, prepend=0.0))

    return Transform((size,), lambda free, _: jnp.cumsum(jnp.exp(free)), lambda free, _: jnp.sum(free), inverse)


def simplex(size: int) -> Transform:
    """Positive with sum 1, by breaking a stick: each free parameter is the logit of the fraction taken from the rest.

    Fractions are shifted so that zeros are the uniform point. The Jacobian is of all entries but the last.
    """

    def shift() -> jax.Array:
        return jnp.log(jnp.arange(size - 1, 0, -1, dtype=float))

    def logs(free: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Logarithms of the fractions taken, of the fractions left, and of the stick before and after each break."""
        taken, left = jax.nn.log_sigmoid(free - shift()), jax.nn.log_sigmoid(shift() - free)
        return taken, left, jnp.concatenate([jnp.zeros(1, free.dtype), jnp.cumsum(left)])

    def constrain(free: jax.Array, _: Values) -> jax.Array:
        taken, _left, stick = logs(free)
        return jnp.exp(stick + jnp.append(taken, 0.0))

    def log_jacobian(free: jax.Array, _: Values) -> Scalar:
        taken, left, stick = logs(free)
        return jnp.sum(taken + left + stick[:-1])

    def inverse(value: jax.Array, _: Values) -> jax.Array:
        rest = jnp.cumsum(value[::-1])[::-1][1:]  # summed from the end, where 1 minus the sum would cancel
        return jnp.log(value[:-1]) - jnp.log(rest) + shift()

    return Transform((size - 1,), constrain, log_jacobian, inverse)
