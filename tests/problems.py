"""Densities, base metrics and phase-space points that the exactness tests go through."""

import jax
import jax.numpy as jnp
import numpy as np

import mongepatch as mp

ALPHAS = (0.0, 0.1, 0.5, 1.0, 3.0)
BASES = ("identity", "diagonal", "dense")


def random_quartic(dimension=4, seed=5):
    """A quartic with every mixed third derivative, bounded above."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(dimension, dimension)), rng.normal(size=dimension)
    C = rng.normal(size=(3, dimension))

    def logdensity(x):
        return -0.5 * x @ (A @ A.T / dimension + jnp.eye(dimension)) @ x - 0.1 * ((C @ x) ** 4).sum() + b @ x

    return logdensity


def small_regression(n=30, dimension=3, seed=11):
    rng = np.random.default_rng(seed)
    design = mp.targets.standardized_design(rng.normal(size=(n, dimension - 1)))
    return mp.targets.logistic_regression(design, rng.random(n) < 0.4)


# Each density with a region of its typical set, to draw positions from.
DENSITIES = {
    "funnel": (mp.targets.funnel(3), np.zeros(4), 0.7),
    "squiggle": (mp.targets.squiggle(1.0), np.array([1.0, -np.sin(1.0)]), 0.02),
    "ring": (mp.targets.ring(), np.array([12.0, 0.0]), 0.2),
    "rosenbrock": (mp.targets.rosenbrock(3), np.ones(3), 0.2),
    "logistic": (small_regression(), np.zeros(3), 0.4),
    "quartic": (random_quartic(), np.zeros(4), 0.6),
}


def inverse_mass(kind, dimension):
    rng = np.random.default_rng(3)
    if kind == "identity":
        return None
    if kind == "diagonal":
        return rng.uniform(0.5, 2.0, dimension)
    root = rng.normal(size=(dimension, dimension))
    return root @ root.T / dimension + 0.5 * np.eye(dimension)


def mass_matrix(kind, dimension):
    value = inverse_mass(kind, dimension)
    if value is None:
        return jnp.eye(dimension)
    return jnp.linalg.inv(jnp.diag(value) if value.ndim == 1 else value)


def phase_points(name, n=3, seed=0):
    """Positions in the typical set, and standard normal noise."""
    _, center, scale = DENSITIES[name]
    key = jax.random.key(seed)
    shape = (n, center.size)
    return center + scale * jax.random.normal(key, shape), jax.random.normal(jax.random.fold_in(key, 1), shape)


def relative_error(value, reference):
    """Largest difference, relative to the size of the reference (or to 1 where that is smaller)."""
    return jnp.abs(value - reference).max() / jnp.maximum(1.0, jnp.abs(reference).max())


def curved(x):
    """A metric with every kind of derivative."""
    root = jnp.outer(jnp.sin(x), jnp.cos(x[::-1])) + jnp.diag(1.0 + 0.3 * x**2)
    return root @ root.T + jnp.eye(x.size)
