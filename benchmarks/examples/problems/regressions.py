"""Regressions without shrinkage: logistic ones, and counts with too many zeros."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems import NumpyroProblem


def logistic(X: np.ndarray, y: np.ndarray) -> None:
    """A logistic regression, as of forest covers."""
    beta = numpyro.sample("beta", dist.Normal(jnp.zeros(X.shape[1]), 1).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=X @ beta).to_event(1), obs=y)


def proportions(X: np.ndarray, y: np.ndarray) -> None:
    """The effect of a call on purchases, with a multivariate normal prior of the coefficients."""
    beta = numpyro.sample("beta", dist.MultivariateNormal(jnp.zeros(X.shape[1]), jnp.eye(X.shape[1])))
    with numpyro.plate("customer", len(y)):
        numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=y)


def zero_inflated_poisson(X: np.ndarray, y: np.ndarray) -> None:
    """Counts of fish: one regression of whether anything is caught, and one of how much."""
    prior = dist.Normal(jnp.zeros(X.shape[1]), 1).to_event(1)
    gate, rate = numpyro.sample("gate", prior), numpyro.sample("rate", prior)
    with numpyro.plate("visitor", len(y)):
        numpyro.sample("y", dist.ZeroInflatedPoisson(jax.nn.sigmoid(X @ gate), rate=jnp.exp(X @ rate)), obs=y)


def problems() -> list[NumpyroProblem]:
    """1000 plots of forest with 15 features, 4000 customers, and 200 visitors."""
    return [
        NumpyroProblem("covtype", logistic, _forest(), others=("beta",)),
        NumpyroProblem("proportion-test", proportions, _customers(), others=("beta",)),
        NumpyroProblem("zero-inflated-poisson", zero_inflated_poisson, _visitors(), others=("gate", "rate")),
    ]


def _bernoulli(rng: np.random.Generator, logits: np.ndarray) -> np.ndarray:
    return (rng.random(logits.shape) < 1.0 / (1.0 + np.exp(-logits))).astype(int)


def _forest() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20)
    features = rng.normal(size=(1000, 14)) @ (np.eye(14) + 0.3 * rng.normal(size=(14, 14)))  # correlated
    X = np.column_stack([features / features.std(axis=0), np.ones(1000)])
    return X, _bernoulli(rng, X @ rng.normal(0.0, 0.6, size=15))


def _customers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(21)
    called, female = rng.random(4000) < 0.51, rng.random(4000) < 0.5
    X = np.column_stack([np.ones(4000), called, female]).astype(float)
    return X, _bernoulli(rng, X @ np.array([-2.7, 0.35, 0.0]))


def _visitors() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(22)
    X = np.column_stack(
        [
            rng.random(200) < 0.85,  # live bait
            rng.random(200) < 0.6,  # a camper
            rng.integers(1, 5, size=200),  # persons
            rng.integers(0, 4, size=200),  # children
            np.ones(200),
        ]
    ).astype(float)
    none = _bernoulli(rng, X @ np.array([-0.5, -0.6, -0.5, 1.2, 0.8]))
    caught = rng.poisson(np.exp(X @ np.array([1.0, 0.5, 0.7, -0.8, -1.2])))
    return X, np.where(none == 1, 0, caught)
