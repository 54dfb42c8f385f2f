"""Coordinates that know about the data before there are draws, from the mode and its surroundings."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from hierarchies import dense, grouped_data, groups, hierarchy, whitening

import mongepatch as mp
from mongepatch.coordinates.mode import whitened_at_mode


def test_normal_data_leave_nothing_to_learn():
    target = mp.from_numpyro(groups, *grouped_data([40, 1, 3]))
    density = whitened_at_mode(whitening(target), jnp.ones(target.dimension))
    inner = density.plan.inner
    for seed in range(3):
        y = 1.5 * jax.random.normal(jax.random.key(seed), (target.dimension,))
        np.testing.assert_allclose(jax.grad(density)(y)[inner], -y[inner], atol=1e-8)


def trials(y):
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    with numpyro.plate("group", len(y)):
        eta = numpyro.sample("eta", dist.Normal(0, tau))
        numpyro.sample("y", dist.Binomial(50, logits=eta), obs=y)


@pytest.mark.parametrize("start", [-2.0, 0.5, 2.0])
def test_other_data_are_learnt_about_at_the_mode(start):
    y = np.array([8, 20, 12, 16, 11, 13, 9, 30])
    found = whitening(mp.from_numpyro(trials, y))
    density = whitened_at_mode(found, jnp.full(found.initial.plan.dimension, start))
    # That of the data alone; groups are shrunk towards a probability of ½, at which it is largest.
    expected = 50 * (y / 50) * (1 - y / 50)
    matrix = dense(density.plan, density.information.matrix[0])
    np.testing.assert_allclose(matrix, np.diag(expected), rtol=0.2, atol=1e-8)


def test_a_prior_alone_stays_non_centred():
    found = whitening(hierarchy())
    density = whitened_at_mode(found, jnp.ones(found.initial.plan.dimension))
    np.testing.assert_allclose(density.information.matrix, 0.0, atol=1e-8)
    np.testing.assert_allclose(density.information.vector, 0.0, atol=1e-8)
