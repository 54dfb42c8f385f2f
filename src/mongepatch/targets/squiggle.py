"""A narrow Gaussian bent along a sine."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import Positions, PRNGKey, Scalar, Vector
from mongepatch.errors import SettingError
from mongepatch.targets.base import Target
from mongepatch.targets.layout import Layout
from mongepatch.targets.truth import Normal, Truth

PAPER_COVARIANCE = ((10.0, 0.01), (0.01, 0.001))


def squiggle(a: float = 1.0, covariance: Sequence[Sequence[float]] = PAPER_COVARIANCE) -> Target:
    """(x₁, x₂ + sin(a x₁)) ~ N(0, covariance); the default covariance is the paper's.

    Args:
        a: how often the ridge bends; the paper has 0.5, 1 and 2.
        covariance: Σ, 2 × 2.

    Example:
        >>> target = mp.targets.squiggle(a=2.0)
    """
    sigma = np.asarray(covariance, float)
    if sigma.shape != (2, 2) or not (np.allclose(sigma, sigma.T) and (np.linalg.eigvalsh(sigma) > 0).all()):
        raise SettingError("covariance must be a symmetric, positive definite 2 × 2 matrix.")
    precision, factor = np.linalg.inv(sigma), np.linalg.cholesky(sigma)

    def logdensity(position: Vector) -> Scalar:
        y = position.at[1].add(jnp.sin(a * position[0]))
        return -0.5 * y @ precision @ y

    def bent(y: Vector) -> Vector:
        return y.at[1].add(-jnp.sin(a * y[0]))

    def draw(key: PRNGKey, n: int) -> Positions:
        return jax.vmap(bent)(jax.random.normal(key, (n, 2)) @ factor.T)

    def start(key: PRNGKey) -> Vector:
        return bent(2.0 * jax.random.normal(key, (2,)) @ factor.T)

    layout = Layout(("x1", "x2"), ((), ()))
    return Target(logdensity, layout, start, truth=Truth(draw, {"x1": Normal(0.0, float(sigma[0, 0]) ** 0.5)}))
