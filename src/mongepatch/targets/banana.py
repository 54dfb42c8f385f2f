"""The banana-shaped posterior of the paper's Figure 2: only x₁ + x₂² is observed."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._typing import Matrix, Positions, PRNGKey, Scalar, Vector
from mongepatch.errors import SettingError
from mongepatch.targets.base import Target
from mongepatch.targets.layout import Layout
from mongepatch.targets.truth import Tabulated, Truth
from mongepatch.validation import positive_number


def banana(
    observations: Sequence[float] | None = None, *, noise_variance: float = 0.5, prior_variance: float = 0.5
) -> Target:
    """yᵢ ~ N(x₁ + x₂², noise_variance) with x₁, x₂ ~ N(0, prior_variance); the variances are the paper's.

    Args:
        observations: the y's. The paper does not give its ten; by default they are ten evenly spread normal quantiles
            around 1, of which only the number and the mean matter.
        noise_variance: σ_y².
        prior_variance: σ².

    Example:
        >>> target = mp.targets.banana()
    """
    positive_number("noise_variance", noise_variance)
    positive_number("prior_variance", prior_variance)
    if observations is None:
        spread = jax.scipy.special.ndtri((jnp.arange(10) + 0.5) / 10)
        observations = np.asarray(1.0 + noise_variance**0.5 * spread, float).tolist()
    y = np.asarray(observations, float)
    if y.ndim != 1 or y.size == 0:
        raise SettingError(f"observations must be a list of at least one number; their shape is {y.shape}.")
    mean, precision = float(y.mean()), y.size / noise_variance

    def logdensity(position: Vector) -> Scalar:
        x1, x2 = position
        misfit = mean - x1 - x2**2
        return -0.5 * (precision * misfit**2 + (x1**2 + x2**2) / prior_variance)

    def information(position: Vector) -> Matrix:
        slope = jnp.stack([jnp.ones_like(position[1]), 2.0 * position[1]])
        return precision * jnp.outer(slope, slope) + jnp.eye(2) / prior_variance

    # x₁ given x₂ is normal with a variance that does not depend on x₂; x₂ itself is a one-dimensional quadrature.
    sd1 = (precision + 1.0 / prior_variance) ** -0.5
    reach = 8.0 * prior_variance**0.5 + max(mean, 0.0) ** 0.5
    grid = np.linspace(-reach, reach, 32_001)
    marginal2 = Tabulated.from_log_density(
        grid, -0.5 * (grid**2 / prior_variance + (mean - grid**2) ** 2 / (1.0 / precision + prior_variance))
    )

    def mean1(x2: jax.Array) -> jax.Array:
        return sd1**2 * precision * (mean - x2**2)

    def draw(key: PRNGKey, n: int) -> Positions:
        key1, key2 = jax.random.split(key)
        x2 = jnp.asarray(marginal2.quantile(jax.random.uniform(key2, (n,))))
        return jnp.stack([mean1(x2) + sd1 * jax.random.normal(key1, (n,)), x2], axis=1)

    def start(key: PRNGKey) -> Vector:
        return prior_variance**0.5 * jax.random.uniform(key, (2,), minval=-2.0, maxval=2.0)

    layout, truth = Layout(("x1", "x2"), ((), ())), Truth(draw, {"x2": marginal2})
    return Target(logdensity, layout, start, truth=truth, information=information)
