"""A Bayesian neural network with two hidden layers, whose posterior has many equal modes."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems import NumpyroProblem

HIDDEN = 3


def network(X: np.ndarray, y: np.ndarray) -> None:
    """Weights are standard normal; their signs and their order are not identified, the fit and the noise are."""
    shapes = {"first": (X.shape[1], HIDDEN), "second": (HIDDEN, HIDDEN), "third": (HIDDEN,)}
    weights = {
        name: numpyro.sample(name, dist.Normal(jnp.zeros(shape), 1).to_event()) for name, shape in shapes.items()
    }
    fit = jnp.tanh(jnp.tanh(X @ weights["first"]) @ weights["second"]) @ weights["third"]
    numpyro.deterministic("fit", fit[:: len(y) // 5])
    precision = numpyro.sample("precision", dist.Gamma(3, 1))
    numpyro.sample("y", dist.Normal(fit, 1 / jnp.sqrt(precision)).to_event(1), obs=y)


def problems() -> list[NumpyroProblem]:
    """Three hidden units a layer and 50 observations. The noise and the fit at five places are measured."""
    rng = np.random.default_rng(90)
    x = np.linspace(-1.0, 1.0, 50)
    X = x[:, None] ** np.arange(3)
    y = X @ (0.5 * rng.normal(size=3)) + 0.5 * (0.5 + x) ** 2 * np.sin(4 * x) + 0.05 * rng.normal(size=50)
    data = (X, (y - y.mean()) / y.std())
    return [NumpyroProblem("bnn", network, data, scales=("precision",), others=("fit",))]
