"""Small hierarchies that tests of whitened coordinates share."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import mongepatch as mp
from mongepatch.coordinates import whitening_of
from mongepatch.coordinates.information import estimate_information

GROUPS = 4


def prior(p):
    """μ ~ N(0, 1), v ~ N(0, 1), θᵢ ~ N(μ, e²ᵛ)."""
    z = (p["theta"] - p["mu"]) * jnp.exp(-p["v"])
    return -0.5 * (p["mu"] ** 2 + p["v"] ** 2 + z @ z) - GROUPS * p["v"]


def residuals(p):
    return {"theta": (p["theta"] - p["mu"]) * jnp.exp(-p["v"]), "mu": p["mu"], "v": p["v"]}


EXAMPLE = {"mu": 0.0, "theta": jnp.zeros(GROUPS), "v": 0.0}


def hierarchy():
    """The prior alone, as a target; flat positions are μ, θ, v."""
    return mp.Target.from_density(prior, EXAMPLE).with_residuals(residuals)


def exact_draws(key, count):
    """Flat positions of independent draws of it."""
    keys = jax.random.split(key, 3)
    mu, v = jax.random.normal(keys[0], (count,)), jax.random.normal(keys[1], (count,))
    theta = mu[:, None] + jnp.exp(v)[:, None] * jax.random.normal(keys[2], (count, GROUPS))
    return jnp.column_stack([mu, theta, v])


def grouped_data(sizes, seed=0, sigma=1.0):
    """Groups, and normal data of them."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, rng.normal(rng.normal(0.5, 0.7, size=len(sizes))[group], sigma)


def groups(group, y):
    """A NumPyro model: groups with means of their own, written centred, and both scales unknown."""
    mu, tau = numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("tau", dist.HalfNormal(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    with numpyro.plate("group", group.max() + 1):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    numpyro.sample("y", dist.Normal(theta[group], sigma), obs=y)


def whitening(target):
    """Its whitened coordinates, in double precision."""
    return whitening_of(target, jax.ShapeDtypeStruct((target.dimension,), float))


def information_at(found, positions):
    """What data says, averaged over positions of the model."""
    return estimate_information(found.data, found.initial.plan, np.asarray(positions))


def dense(plan, entries):
    """A symmetric matrix from the entries that an algebra lists: of a pair outside a dense core, only one."""
    size = len(plan.inner)
    matrix = np.zeros((size, size))
    matrix[plan.algebra.rows, plan.algebra.columns] = entries
    return np.where(matrix == 0, matrix.T, matrix)
