"""A thin ring in the plane, on which Euclidean trajectories rattle between the walls."""

import jax
import jax.numpy as jnp

from mongepatch._typing import Positions, PRNGKey, Scalar, Vector
from mongepatch.targets.base import Target
from mongepatch.targets.layout import Layout
from mongepatch.targets.truth import Truth
from mongepatch.validation import positive_number


def ring(radius: float = 12.0, variance: float = 0.12) -> Target:
    """Radius ~ N(radius, variance), angle uniform; the defaults are those of the paper's Figure 3.

    Args:
        radius: μ, far enough from 0 that the normal's mass below 0 does not matter.
        variance: σ², the ring's thickness.

    Example:
        >>> target = mp.targets.ring()
    """
    positive_number("radius", radius)
    positive_number("variance", variance)

    def logdensity(position: Vector) -> Scalar:
        r = jnp.sqrt(position @ position)
        return -0.5 * (r - radius) ** 2 / variance - jnp.log(r)

    def draw(key: PRNGKey, n: int) -> Positions:
        return jax.vmap(lambda k: _place(k, radius, variance**0.5))(jax.random.split(key, n))

    def start(key: PRNGKey) -> Vector:
        return _place(key, radius, 2.0 * variance**0.5)

    return Target(logdensity, Layout(("x",), ((2,),)), start, truth=Truth(draw))


def _place(key: PRNGKey, radius: float, sd: float) -> Vector:
    radius_key, angle_key = jax.random.split(key)
    r = radius + sd * jax.random.normal(radius_key)
    angle = jax.random.uniform(angle_key, maxval=2.0 * jnp.pi)
    return r * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
