"""Sparse regressions: two with a horseshoe prior, and one with all pairs of features in a kernel."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems import NumpyroProblem

SIGNALS = np.array([2.0, -1.0, 0.5])
"""The coefficients of a horseshoe regression that are not 0."""
JITTER = 1e-4


def _horseshoe(features: int) -> jnp.ndarray:
    """Coefficients in units of their scales, as in the example."""
    lambdas = numpyro.sample("lambdas", dist.HalfCauchy(jnp.ones(features)).to_event(1))
    tau = numpyro.sample("tau", dist.HalfCauchy(1))
    z = numpyro.sample("z", dist.Normal(jnp.zeros(features), 1).to_event(1))
    return numpyro.deterministic("beta", tau * lambdas * z)


def horseshoe(X: np.ndarray, y: np.ndarray) -> None:
    """A response with normal noise."""
    mean = X @ _horseshoe(X.shape[1])
    precision = numpyro.sample("precision", dist.Gamma(3, 1))
    numpyro.sample("y", dist.Normal(mean, 1 / jnp.sqrt(precision)).to_event(1), obs=y)


def horseshoe_binary(X: np.ndarray, y: np.ndarray) -> None:
    """A binary response."""
    numpyro.sample("y", dist.Bernoulli(logits=X @ _horseshoe(X.shape[1])).to_event(1), obs=y)


def sparse_regression(X: np.ndarray, y: np.ndarray) -> None:
    """Coefficients of features and of their pairs, integrated out (Agrawal, Huggins, Trippe and Broderick 2019)."""
    observations, features = X.shape
    expected = max(1.0, features / 10)
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    scale = sigma * expected / (jnp.sqrt(observations) * (features - expected))
    eta1 = numpyro.sample("eta1", dist.HalfCauchy(scale))
    msq, xisq = numpyro.sample("msq", dist.InverseGamma(3, 1)), numpyro.sample("xisq", dist.InverseGamma(3, 1))
    lam = numpyro.sample("lam", dist.HalfCauchy(jnp.ones(features)).to_event(1))
    kappa = jnp.sqrt(msq) * lam / jnp.sqrt(msq + (eta1 * lam) ** 2)
    covariance = _pairs_kernel(kappa * X, eta1, eta1**2 * jnp.sqrt(xisq) / msq)
    covariance += (sigma**2 + JITTER) * jnp.eye(observations)
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(observations), covariance), obs=y)


def _pairs_kernel(X: jnp.ndarray, eta1: jnp.ndarray, eta2: jnp.ndarray) -> jnp.ndarray:
    """The covariance of a constant, linear terms of scale eta1, and products of two features of scale eta2."""
    products, squares = X @ X.T, X**2 @ (X**2).T
    pairs = 0.5 * eta2**2 * ((1 + products) ** 2 - squares)
    return pairs + (eta1**2 - eta2**2) * products + 1 - 0.5 * eta2**2


def problems() -> list[NumpyroProblem]:
    """16 features with 60 and 150 observations; 12 features and their pairs with 60 observations."""
    return [
        NumpyroProblem("horseshoe", horseshoe, _linear(60), scales=("lambdas", "tau", "precision"), others=("beta",)),
        NumpyroProblem("horseshoe-binary", horseshoe_binary, _binary(150), scales=("lambdas", "tau"), others=("beta",)),
        NumpyroProblem(
            "sparse-regression", sparse_regression, _pairs(), scales=("sigma", "eta1", "msq", "xisq", "lam")
        ),
    ]


def _linear(observations: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(30)
    X = rng.normal(size=(observations, 16))
    return X, rng.normal(X[:, : len(SIGNALS)] @ SIGNALS, 0.3)


def _binary(observations: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(31)
    X = rng.normal(size=(observations, 16))
    return X, (rng.random(observations) < 1 / (1 + np.exp(-X[:, : len(SIGNALS)] @ SIGNALS))).astype(int)


def _pairs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(32)
    X = rng.normal(size=(60, 12))
    y = X[:, :3] @ np.array([1.0, 2.5, 1.5]) + X[:, 0] * X[:, 1] + 0.05 * rng.normal(size=60)
    return X, (y - y.mean()) / y.std()
