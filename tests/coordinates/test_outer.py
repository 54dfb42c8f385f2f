"""Maps that make outer coordinates normal."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mongepatch.coordinates.outer import OuterMap, fit

MAP = OuterMap(*map(jnp.array, ([0.5, -1.0], [2.0, 0.1], [0.4, -1.2], [0.7, 1.4])))


def test_maps_are_inverted():
    u = jnp.array([-3.0, 1.7])
    psi, _ = MAP.forward(u)
    np.testing.assert_allclose(MAP.inverse(psi), u, rtol=1e-12)


@pytest.mark.parametrize("u", [(-3.0, 1.7), (0.0, -1e-3), (1e6, -1e6)])  # at 0 one formula takes over from another
def test_slopes_are_those_of_the_maps(u):
    u = jnp.array(u)
    jacobian = jax.jacfwd(lambda u: MAP.forward(u)[0])(u)
    np.testing.assert_allclose(MAP.forward(u)[1], jnp.linalg.slogdet(jacobian)[1], rtol=1e-12)


def test_the_identity_is_one():
    u = jnp.array([-3.0, 1.7, 0.0])
    psi, slopes = OuterMap.identity(3, float).forward(u)
    np.testing.assert_allclose(psi, u, atol=1e-14)
    assert abs(float(slopes)) < 1e-14


def test_a_skewed_coordinate_becomes_normal():
    draws = np.log(np.random.default_rng(0).gamma(0.7, size=(4000, 1)))  # a log scale with an exponential left tail
    u = np.asarray(jax.vmap(fit(draws, float).inverse)(jnp.asarray(draws)))[:, 0]
    before = stats.kstest((draws[:, 0] - draws.mean()) / draws.std(), "norm").statistic
    assert stats.kstest(u, "norm").statistic < 0.02 < 0.05 < before


def test_a_normal_coordinate_is_left_nearly_as_it_is():
    draws = np.random.default_rng(1).normal(3.0, 0.5, size=(2000, 2))
    center, scale, skew, tail = fit(draws, float)
    np.testing.assert_allclose(center, 3.0, atol=0.06)
    np.testing.assert_allclose(scale, 0.5, atol=0.06)
    np.testing.assert_allclose(skew, 0.0, atol=0.1)
    np.testing.assert_allclose(tail, 1.0, atol=0.1)


@pytest.mark.parametrize("draws", [np.full((50, 1), 2.0), np.array([[0.0], [1e8], [-1e8]] * 20)])
def test_strange_draws_give_a_finite_map(draws):
    found = fit(draws, float)
    assert all(bool(jnp.isfinite(part).all()) for part in found)
    assert bool((found.scale > 0).all())
