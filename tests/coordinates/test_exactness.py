"""Draws in whitened coordinates are exact whatever the coordinates are: chains that start from exact draws stay so."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hierarchies import exact_draws, hierarchy

import mongepatch as mp
from mongepatch.coordinates import Information, WhitenedDensity, whitening_of
from mongepatch.coordinates.outer import OuterMap
from mongepatch.kernels import LMC, Setup, draw
from mongepatch.metrics import fitted

pytestmark = pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles

CHAINS, DRAWS = 4000, 30
MAX_STANDARD_ERRORS = 4.0


def crooked_coordinates():
    """Coordinates that do not suit the hierarchy at all, so that every part of the map has something to do."""
    target = hierarchy()
    density = whitening_of(target, jax.ShapeDtypeStruct((target.dimension,), float)).initial
    plan, size = density.plan, len(density.plan.inner)
    diagonal = plan.algebra.rows == plan.algebra.columns
    information = Information(jnp.where(diagonal, 0.7, 0.05)[None], jnp.linspace(-1.0, 1.0, size)[None])
    return replace(density, information=information, outer_map=OuterMap(*map(jnp.array, ([0.3], [0.8], [0.2], [0.9]))))


def standard_errors_off(metric, trajectory, step_size):
    density = crooked_coordinates()

    def chain(key, start):
        suited = fitted(metric, start)
        setup = Setup(density, suited, jnp.asarray(step_size), trajectory)

        def one(point, key):
            point, _ = draw(LMC(), key, point, setup)
            return point, density.to_model(point.position)

        first = suited.at(density, density.from_model(start))[0]
        return jax.lax.scan(one, first, jax.random.split(key, DRAWS))[1]

    starts = exact_draws(jax.random.key(1), CHAINS)
    draws = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(2), CHAINS), starts))
    v, mu = draws[..., -1], draws[..., 0]
    z = (draws[..., 1] - mu) * np.exp(-v)
    observed = np.stack([v, v**2, v**3, v < -1, mu, mu**2, z, z**2, mu * v, z * v, z**2 * v, (v < -1) * z**2])
    expected = np.array([0, 1, 0, 0.158655, 0, 1, 0, 1, 0, 0, 0, 0.158655])
    of_chains = observed.mean(axis=2)
    errors = of_chains.std(axis=1, ddof=1) / np.sqrt(CHAINS)
    return np.abs(of_chains.mean(axis=1) - expected) / errors


@pytest.mark.parametrize(
    ("metric", "trajectory", "step_size"),
    [
        pytest.param(mp.Euclidean(), mp.NUTS(5), 0.4, id="NUTS"),
        pytest.param(mp.Monge(0.3), mp.Static(6, jitter=0.5), 0.2, id="LMC-Monge", marks=pytest.mark.slow),
    ],
)
def test_exact_draws_stay_exact(metric, trajectory, step_size):
    assert standard_errors_off(metric, trajectory, step_size).max() < MAX_STANDARD_ERRORS


@pytest.fixture
def traced_anew():
    """Lets go of traced densities: one of before a mistake would hide it, and one with it would spoil other tests."""
    jax.clear_caches()
    yield
    jax.clear_caches()


@pytest.mark.usefixtures("traced_anew")
def test_a_missing_determinant_is_noticed(monkeypatch):
    right = WhitenedDensity._with_log_det
    without_determinant = lambda self, y: (right(self, y)[0], self.outer_map.forward(self.plan.split(y)[0])[1])  # noqa: E731
    monkeypatch.setattr(WhitenedDensity, "_with_log_det", without_determinant)
    assert standard_errors_off(mp.Euclidean(), mp.NUTS(5), 0.4).max() > 2 * MAX_STANDARD_ERRORS


@pytest.mark.usefixtures("traced_anew")
@pytest.mark.slow
def test_a_missing_slope_of_outer_maps_is_noticed(monkeypatch):
    right = OuterMap.forward
    monkeypatch.setattr(OuterMap, "forward", lambda self, u: (right(self, u)[0], 0.0 * u.sum()))
    assert standard_errors_off(mp.Euclidean(), mp.NUTS(5), 0.4).max() > 2 * MAX_STANDARD_ERRORS
