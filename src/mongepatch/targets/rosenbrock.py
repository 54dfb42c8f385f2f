"""Rosenbrock's valley as a density: a chain of parabolas, each parameter near the square of the one before."""

import jax
import jax.numpy as jnp

from mongepatch._typing import Positions, PRNGKey, Scalar, Vector
from mongepatch.targets.base import Target
from mongepatch.targets.layout import Layout
from mongepatch.targets.truth import Normal, Truth
from mongepatch.validation import positive_number, whole_number


def rosenbrock(dimension: int = 2, *, a: float = 0.05, b: float = 5.0, mu: float = 1.0) -> Target:
    """Log density −a (x₁ − μ)² − b Σ (xᵢ − xᵢ₋₁²)².

    Each parameter given the one before is normal, so exact draws exist in every dimension. The defaults are the usual
    function −((1 − x₁)² + 100 (x₂ − x₁²)²)/20.

    Args:
        dimension: at least 2.
        a: sharpness of the first parameter, x₁ ~ N(μ, 1/(2a)).
        b: sharpness of the valley, xᵢ | xᵢ₋₁ ~ N(xᵢ₋₁², 1/(2b)).
        mu: μ.

    Example:
        >>> target = mp.targets.rosenbrock(3)
    """
    dimension = whole_number("dimension", dimension, least=2)
    positive_number("a", a)
    positive_number("b", b)

    def logdensity(position: Vector) -> Scalar:
        steps = position[1:] - position[:-1] ** 2
        return -a * (position[0] - mu) ** 2 - b * steps @ steps

    def chained(noise: Vector) -> Vector:
        entries = [mu + noise[0] * (2.0 * a) ** -0.5]
        for i in range(1, dimension):
            entries.append(entries[-1] ** 2 + noise[i] * (2.0 * b) ** -0.5)
        return jnp.stack(entries)

    def draw(key: PRNGKey, n: int) -> Positions:
        return jax.vmap(chained)(jax.random.normal(key, (n, dimension)))

    def start(key: PRNGKey) -> Vector:
        return mu**2 + jax.random.uniform(key, (dimension,), minval=-1.0, maxval=1.0)

    names = tuple(f"x{i}" for i in range(1, dimension + 1))
    layout = Layout(names, ((),) * dimension)
    return Target(logdensity, layout, start, truth=Truth(draw, {"x1": Normal(mu, (2.0 * a) ** -0.5)}))
