"""Funnels: one parameter is the log-scale of all the others, so that curvature grows without bound in the neck."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from mongepatch._typing import Matrix, Positions, PRNGKey, Scalar, Vector
from mongepatch.targets.base import Target
from mongepatch.targets.layout import Layout
from mongepatch.targets.truth import Normal, Truth
from mongepatch.validation import positive_number, whole_number


def funnel(dimension: int, *, variance: float = 15.0) -> Target:
    """The paper's funnel: a ~ N(0, variance), x₁ … x_D ~ N(0, softplus(a)), softplus(a) a variance.

    Args:
        dimension: D, the number of x's; `a` is one more, the last coordinate of a flat position.
        variance: of `a`.

    Example:
        >>> target = mp.targets.funnel(10)
        >>> target.truth.draw(jax.random.key(0), 5).shape  # exact draws
        (5, 11)
    """
    positive_number("variance", variance)
    return _funnel(dimension, variance**0.5, "a", jax.nn.softplus)


def neal_funnel(dimension: int = 9, *, sd: float = 3.0) -> Target:
    """Neal's funnel: v ~ N(0, sd²), x₁ … x_D ~ N(0, eᵛ), eᵛ a variance.

    Args:
        dimension: D, the number of x's; `v` is one more, the last coordinate of a flat position.
        sd: standard deviation of `v`.

    Example:
        >>> target = mp.targets.neal_funnel(9)
    """
    positive_number("sd", sd)
    return _funnel(dimension, sd, "v", jnp.exp)


def _funnel(dimension: int, sd: float, neck: str, variance_of: Callable[[jax.Array], jax.Array]) -> Target:
    dimension = whole_number("dimension", dimension)

    def logdensity(position: Vector) -> Scalar:
        x, log_scale = position[:-1], position[-1]
        variance = variance_of(log_scale)
        return -0.5 * (x @ x / variance + dimension * jnp.log(variance) + (log_scale / sd) ** 2)

    def information(position: Vector) -> Matrix:
        # Of x given the neck, and of the neck: its prior, and what D variances that depend on it tell about it.
        variance, slope = jax.jvp(variance_of, (position[-1],), (jnp.ones_like(position[-1]),))
        of_neck = sd**-2 + 0.5 * dimension * (slope / variance) ** 2
        return jnp.diag(jnp.append(jnp.full(dimension, 1.0 / variance), of_neck))

    def draw(key: PRNGKey, n: int) -> Positions:
        neck_key, x_key = jax.random.split(key)
        log_scale = sd * jax.random.normal(neck_key, (n, 1))
        x = jnp.sqrt(variance_of(log_scale)) * jax.random.normal(x_key, (n, dimension))
        return jnp.concatenate([x, log_scale], axis=1)

    def start(key: PRNGKey) -> Vector:
        return jax.random.uniform(key, (dimension + 1,), minval=-2.0, maxval=2.0)

    layout = Layout(("x", neck), ((dimension,), ()))
    truth = Truth(draw, {neck: Normal(0.0, sd)})
    return Target(logdensity, layout, start, truth=truth, information=information)
