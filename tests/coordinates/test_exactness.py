"""Draws in whitened coordinates are exact whatever the coordinates are: chains that start from exact draws stay so."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hierarchies import exact_draws, hierarchy

import mongepatch as mp
from mongepatch.coordinates import Information, whitening_of
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


def chains_in(density, metric, trajectory, step_size, mistake=lambda position: 0.0):
    """The draws of chains from (keys, starts), in the model's coordinates; a mistake is added to the log density."""

    def chain(key, start):
        suited, mistaken = fitted(metric, start), lambda position: density(position) + mistake(position)
        setup = Setup(mistaken, suited, jnp.asarray(step_size), trajectory)

        def one(point, key):
            point, _ = draw(LMC(), key, point, setup)
            return point, density.to_model(point.position)

        first = suited.at(mistaken, density.from_model(start))[0]
        return jax.lax.scan(one, first, jax.random.split(key, DRAWS))[1]

    return jax.vmap(chain)


def standard_errors_off(chains):
    """How far the draws of chains that start at exact ones are from the truth."""
    starts = exact_draws(jax.random.key(1), CHAINS)
    draws = np.asarray(chains(jax.random.split(jax.random.key(2), CHAINS), starts))
    v, mu = draws[..., -1], draws[..., 0]
    z = (draws[..., 1] - mu) * np.exp(-v)
    observed = np.stack([v, v**2, v**3, v < -1, mu, mu**2, z, z**2, mu * v, z * v, z**2 * v, (v < -1) * z**2])
    expected = np.array([0, 1, 0, 0.158655, 0, 1, 0, 1, 0, 0, 0, 0.158655])
    of_chains = observed.mean(axis=2)
    errors = of_chains.std(axis=1, ddof=1) / np.sqrt(CHAINS)
    return np.abs(of_chains.mean(axis=1) - expected) / errors


@pytest.mark.slow
def test_exact_draws_stay_exact_in_the_monge_metric():
    chains = chains_in(crooked_coordinates(), mp.Monge(0.3), mp.Static(6, jitter=0.5), 0.2)
    assert standard_errors_off(jax.jit(chains)).max() < MAX_STANDARD_ERRORS


# What multiplies the log determinants of the outer and the inner part of the map. They are traced: to compile the
# sampler takes longer than to draw with it.
RIGHT = (1.0, 1.0)
MISTAKES = {"outer left out": (0.0, 1.0), "inner left out": (1.0, 0.0)}


@jax.jit
def nuts(factors, keys, starts):
    density = crooked_coordinates()

    def mistake(position):
        outer = density.outer_map.forward(density.plan.split(position)[0])[1]
        inner = density.to_model_with_log_det(position)[1] - outer
        return (factors[0] - 1.0) * outer + (factors[1] - 1.0) * inner

    return chains_in(density, mp.Euclidean(), mp.NUTS(5), 0.4, mistake)(keys, starts)


def test_exact_draws_stay_exact():
    assert standard_errors_off(partial(nuts, RIGHT)).max() < MAX_STANDARD_ERRORS


@pytest.mark.parametrize("factors", MISTAKES.values(), ids=MISTAKES)
def test_a_missing_determinant_is_noticed(factors):
    assert standard_errors_off(partial(nuts, factors)).max() > 2 * MAX_STANDARD_ERRORS
