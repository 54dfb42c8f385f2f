"""A log density in coordinates that are made normal one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

import mongepatch as mp
from mongepatch.coordinates import MappedDensity
from mongepatch.coordinates.mapped import may_be_mapped
from mongepatch.coordinates.outer import OuterMap, in_maps, log_densities, out_of_maps
from mongepatch.program import trace_density

MAPS = OuterMap(*map(jnp.array, ([0.5, -1.0], [2.0, 0.1], [0.4, -1.2], [0.7, 1.4])))
U = np.array([[-3.0, 1.7], [0.0, -1e-3], [40.0, -2.0]])


def density(x):
    return -0.5 * x[0] ** 2 + x[1] - jnp.exp(x[0] * x[1])


@pytest.fixture(scope="module")
def mapped():
    return MappedDensity(trace_density(density, jax.ShapeDtypeStruct((2,), float)), MAPS)


def test_densities_differ_by_the_determinant(mapped):
    for u in jnp.asarray(U):
        x, log_det = mapped.to_model_with_log_det(u)
        np.testing.assert_allclose(log_det, jnp.linalg.slogdet(jax.jacfwd(mapped.to_model)(u))[1], rtol=1e-12)
        np.testing.assert_allclose(mapped(u), density(x) + log_det, rtol=1e-12)
        np.testing.assert_allclose(mapped.from_model(x), u, rtol=1e-12)


def test_gradients_of_draws_are_those_of_the_density(mapped):
    """In NumPy, for thousands of draws at once, and back."""
    positions = np.asarray(jax.vmap(mapped.to_model)(jnp.asarray(U)))
    slopes = np.asarray(jax.vmap(jax.grad(density))(jnp.asarray(positions)))
    u, gradients = in_maps(MAPS, positions, slopes)
    np.testing.assert_allclose(u, U, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(gradients, jax.vmap(jax.grad(mapped))(jnp.asarray(U)), rtol=1e-8)
    again, slopes_again = out_of_maps(MAPS, u, gradients)
    np.testing.assert_allclose(again, positions, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(slopes_again, slopes, rtol=1e-8, atol=1e-12)


def test_a_map_without_skew_and_tails_is_a_normal_density():
    draws = np.random.default_rng(0).normal(size=(50, 2))
    center, scale = np.array([0.3, -1.0]), np.array([2.0, 0.5])
    maps = OuterMap(*map(jnp.asarray, (center, scale, np.zeros(2), np.ones(2))))
    expected = stats.norm(center, scale).logpdf(draws).mean(axis=0) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(log_densities(maps, draws), expected, rtol=1e-12)


def test_who_writes_a_density_chooses_its_coordinates():
    def model(size=2):
        numpyro.sample("x", dist.Gamma(jnp.ones(size)).to_event(1))

    assert may_be_mapped(mp.from_numpyro(model))
    assert not may_be_mapped(mp.from_numpyro(model, 1001))  # maps would take longer than they save
    assert not may_be_mapped(mp.Target.from_density(density, jnp.zeros(2)))
