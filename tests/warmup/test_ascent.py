"""Chains that start very far out are brought near, and no others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch.chains import points_at
from mongepatch.metrics import fitted
from mongepatch.program import trace_density
from mongepatch.warmup.ascent import ascend


def scales(x):
    """Ten normal values of unknown scale, x[0] its log: off by fifteen, ℓ is off by 10¹⁴."""
    data = jnp.linspace(-2.0, 2.0, 10)
    return -0.5 * x[0] ** 2 - 0.5 * (x[1:] ** 2).sum() - 0.5 * ((data - jnp.exp(x[0]) * x[1:]) ** 2).sum()


def density(logdensity, dimension):
    return trace_density(logdensity, jax.ShapeDtypeStruct((dimension,), jnp.result_type(float)))


def ascended(positions, logdensity):
    """Where chains begin that start at these positions."""
    program, metric = density(logdensity, positions.shape[1]), fitted(mp.Euclidean(), positions[0])
    return ascend(points_at(positions, program, metric), program, metric).position


def test_whoever_is_far_out_comes_near():
    far = jnp.full((2, 11), 4.0).at[:, 0].set(jnp.array([15.0, 18.0]))
    assert scales(far[0]) < -1e13
    near = ascended(far, scales)
    assert (jax.vmap(scales)(near) > -500.0).all()


def test_draws_stay_where_they_are():
    draws = jnp.asarray(np.random.default_rng(0).normal(size=(64, 100)))
    np.testing.assert_array_equal(ascended(draws, lambda x: -0.5 * x @ x), draws)


@pytest.mark.parametrize("dimension", [20, 100])
def test_a_neck_without_end_is_not_entered(dimension):
    start = jnp.zeros((1, dimension + 1))  # at x = 0 the density rises for ever as the scale falls
    np.testing.assert_array_equal(ascended(start, mp.targets.neal_funnel(dimension)), start)


@pytest.mark.slow
def test_where_the_density_is_flat_or_ends_nothing_breaks():
    flat = ascended(jnp.ones((2, 3)), lambda x: 0.0 * x.sum())
    np.testing.assert_array_equal(flat, 1.0)
    walled = ascended(jnp.full((1, 2), 50.0), lambda x: jnp.where(x.min() > 40.0, -100.0 * x @ x, -jnp.inf))
    assert jnp.isfinite(walled).all()
    assert (walled > 40.0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:At .* too steep:mongepatch.SamplingWarning")  # scales, in a constant metric
def test_sampling_begins_from_there():
    starts = jnp.full((4, 11), 3.0).at[:, 0].set(jnp.array([14.0, 16.0, 18.0, 12.0]))
    tree = mp.sample(
        scales, starts, init_per_chain=True, metric=mp.Euclidean(), trajectory="nuts", warmup=300, draws=200,
        progress=False,
    )  # fmt: skip
    assert np.abs(tree["posterior"]["x"][:, :, 0]).max() < 6.0
