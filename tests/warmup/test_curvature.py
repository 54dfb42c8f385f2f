"""α from the curvature where it is largest."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch.metrics.low_rank import LowRank
from mongepatch.program import trace_density
from mongepatch.warmup.choose_metric import monge_alpha
from mongepatch.warmup.curvature import Curvature, curvature_of, unstable_fraction


def funnel_draws(dimension, count=2000):
    rng = np.random.default_rng(0)
    a = rng.normal(0.0, 15**0.5, count)
    x = rng.normal(size=(count, dimension)) * np.sqrt(np.logaddexp(0.0, a))[:, None]
    return np.column_stack([x, a])


def curvature_at(logdensity, draws, scale):
    density = trace_density(logdensity, jax.ShapeDtypeStruct(draws.shape[1:], draws.dtype))
    base = LowRank.identity(draws.shape[1], 0)
    return curvature_of(draws, density, LowRank(jnp.asarray(scale), base.directions, base.eigenvalues))


def test_curvatures_are_those_of_the_hessian():
    precision = jnp.array([9.0, 4.0, 0.5, 0.1])
    draws = np.random.default_rng(0).normal(size=(5000, 4)) / np.sqrt(precision)
    found = curvature_at(lambda x: -0.5 * (precision * x**2).sum(), draws, np.ones(4))
    assert found.largest == pytest.approx(9.0, rel=1e-3)
    assert found.second == pytest.approx(4 / 9, rel=1e-3)
    assert found.variation == pytest.approx(1.0, rel=1e-3)
    scaled = curvature_at(lambda x: -0.5 * (precision * x**2).sum(), draws, 1 / np.sqrt(precision))
    assert scaled.largest == pytest.approx(1.0, rel=1e-2)


def test_one_stiff_direction_has_an_alpha_and_several_have_none():
    found, why = monge_alpha(curvature_at(mp.targets.funnel(1), funnel_draws(1), [1.0, 3.9]))
    assert 0.33 < found < 3.0
    assert "one direction is stiff" in why
    for dimension in (3, 10):
        found, why = monge_alpha(
            curvature_at(mp.targets.funnel(dimension), funnel_draws(dimension), [1.0] * dimension + [3.9])
        )
        assert found == 0.0
        assert "several directions" in why


def test_a_ridge_that_is_stiff_everywhere_alike_has_none():
    angles, radii = np.random.default_rng(0).uniform(0, 2 * np.pi, 500), 12.0
    draws = radii * np.column_stack([np.cos(angles), np.sin(angles)])
    found, why = monge_alpha(curvature_at(mp.targets.ring(), draws, [8.0, 8.0]))
    assert found == 0.0
    assert "much the same everywhere" in why


def test_a_density_that_is_soft_or_broken_has_none():
    assert monge_alpha(Curvature(2.0, 0.0, 50.0, 1.0))[0] == 0.0
    assert monge_alpha(curvature_at(lambda x: x.sum() * jnp.nan, np.ones((10, 2)), np.ones(2)))[0] == 0.0
    assert monge_alpha(curvature_at(lambda x: 0.0 * x.sum(), np.ones((10, 2)), np.ones(2)))[0] == 0.0


def test_alpha_grows_where_gradients_are_small_for_their_curvature():
    gentle, steep = Curvature(100.0, 0.01, 100.0, 0.25), Curvature(100.0, 0.01, 100.0, 4.0)
    assert monge_alpha(gentle)[0] == pytest.approx(2.0**0.5)
    assert monge_alpha(steep)[0] == pytest.approx(0.125**0.5)
    assert monge_alpha(Curvature(100.0, 0.01, 100.0, 1e-9))[0] == 2.0


def test_any_number_of_draws_needs_one_program(compiled_programs):
    precision = np.array([9.0, 4.0, 0.5])
    draws = np.random.default_rng(0).normal(size=(150, 3))
    density = trace_density(lambda x: -0.5 * (precision * x**2).sum(), jax.ShapeDtypeStruct((3,), draws.dtype))
    metric = mp.Euclidean(LowRank.identity(3, 0))
    fractions = [unstable_fraction(draws[:count], density, metric, 1.0) for count in (1, 7, 64, 65, 150)]
    assert fractions == [1.0] * 5
    assert sum("_spectra" in name for name in compiled_programs) == 1
