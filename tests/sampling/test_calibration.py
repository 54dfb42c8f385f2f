"""Simulation-based calibration: parameters drawn from the prior rank uniformly among draws given their own data.

A small hierarchical model, centred: θⱼ ~ N(μ, τ²), yⱼ ~ N(θⱼ, 1), μ ~ N(0, 1), log τ ~ N(0, ½²). All replications run
side by side, each on its own data, from a starting point that knows nothing of the truth.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch import kernels
from mongepatch.coordinates import MappedDensity
from mongepatch.coordinates.algebra import SparseAlgebra
from mongepatch.coordinates.outer import OuterMap
from mongepatch.coordinates.whitened import Information
from mongepatch.kernels import Setup, draw
from mongepatch.metrics import fitted
from mongepatch.program import trace_density

pytestmark = pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles

REPLICATIONS, GROUPS = 800, 4
BURN_IN, KEPT, THIN = 200, 63, 8
BINS = 16
DATA = np.linspace(-1.0, 1.0, GROUPS)
# Position: μ, log τ, θ₁ … θ₄.


def density_given(y):
    def logdensity(x):
        mu, log_tau, theta = x[0], x[1], x[2:]
        residuals = (theta - mu) * jnp.exp(-log_tau)
        prior = -0.5 * mu**2 - 0.5 * (log_tau / 0.5) ** 2 - 0.5 * residuals @ residuals - GROUPS * log_tau
        return prior - 0.5 * (y - theta) @ (y - theta)

    return logdensity


def information(x):
    """Expected information of the data and of the groups, and precision of the prior."""
    precision = jnp.exp(-2.0 * x[1])
    group = jnp.full(GROUPS, -precision)
    top = jnp.concatenate([jnp.array([1.0]) + GROUPS * precision, jnp.zeros(1), group])
    scale = jnp.zeros(2 + GROUPS).at[1].set(2.0 * GROUPS + 4.0)
    rest = jnp.column_stack([group, jnp.zeros(GROUPS), jnp.eye(GROUPS) * (precision + 1.0)])
    return jnp.vstack([top, scale, rest])


def simulate(key):
    keys = jax.random.split(key, 4)
    mu, log_tau = jax.random.normal(keys[0]), 0.5 * jax.random.normal(keys[1])
    theta = mu + jnp.exp(log_tau) * jax.random.normal(keys[2], (GROUPS,))
    return jnp.concatenate([mu[None], log_tau[None], theta]), theta + jax.random.normal(keys[3], (GROUPS,))


def look_at(x, y):
    """What is ranked: both hyperparameters, one group, and the log density."""
    return jnp.stack([x[0], x[1], x[2], density_given(y)(x)])


def as_given(y):
    """The density in the coordinates of the model, and the map from them."""
    return density_given(y), lambda x: x, lambda x: x


def whitened(y):
    """The density in whitened coordinates that suit neither the data nor the scale: draws must not know."""
    target = mp.Target.from_density(density_given(DATA), np.zeros(2 + GROUPS))
    target = target.with_residuals(
        lambda x: (x[0], x[1] / 0.5, (x[2:] - x[0]) * jnp.exp(-x[1])), data_residuals=lambda x: DATA - x[2:]
    )
    initial = mp.whiten(target).coordinates.initial
    plan, dtype = initial.plan, y.dtype
    is_group = (plan.algebra.rows == plan.algebra.columns) & (plan.inner[plan.algebra.rows] > 0)
    density = replace(
        initial,
        density=trace_density(density_given(y), jax.ShapeDtypeStruct((2 + GROUPS,), dtype)),
        information=Information(jnp.asarray(0.6 * is_group, dtype)[None], 0.5 * jnp.append(0.2, y)[None]),
        outer_map=OuterMap(*(jnp.asarray([number], dtype) for number in (0.1, 0.6, 0.3, 0.8))),
    )
    return density, density.to_model, density.from_model


def mapped(y):
    """The density in coordinates by maps that suit no coordinate."""
    program = trace_density(density_given(y), jax.ShapeDtypeStruct((2 + GROUPS,), y.dtype))
    density = MappedDensity(program, OuterMap(*(jnp.full(2 + GROUPS, part, y.dtype) for part in (0.2, 0.8, 0.8, 0.7))))
    return density, density.to_model, density.from_model


METHODS = {
    "LMC-Monge": (kernels.LMC(), mp.Monge(0.2), 0.2, mp.Static(12, jitter=0.5)),
    "NUTS-Monge": (kernels.LMC(), mp.Monge(0.2), 0.2, mp.NUTS(6)),
    "LMC-Fisher": (kernels.LMC(), mp.Fisher(information), 0.6, mp.Static(5, jitter=0.5)),
    "RMHMC-Fisher": (kernels.RMHMC(), mp.Fisher(information), 0.5, mp.Static(5, jitter=0.5)),
    "NUTS, whitened": (kernels.LMC(), mp.Euclidean(), 0.5, mp.NUTS(6), whitened),
    "NUTS, mapped": (kernels.LMC(), mp.Euclidean(), 0.2, mp.NUTS(6), mapped),
}


def ranks(kernel, metric, step_size, trajectory, coordinates=as_given):
    """For each replication and quantity, how many of the kept draws are below the truth."""

    def replicate(key):
        truth_key, start_key, key = jax.random.split(key, 3)
        truth, y = simulate(truth_key)
        density, to_model, from_model = coordinates(y)
        start = from_model(simulate(start_key)[0])
        suited = fitted(metric, start)
        setup = Setup(density, suited, jnp.asarray(step_size, start.dtype), trajectory)

        def one(point, key):
            point, info = draw(kernel, key, point, setup)
            return point, (look_at(to_model(point.position), y), info.acceptance_rate)

        keys = jax.random.split(key, BURN_IN + KEPT * THIN)
        _, (draws, acceptance) = jax.lax.scan(one, suited.at(density, start)[0], keys)
        kept = draws[BURN_IN + THIN - 1 :: THIN]
        return (kept < look_at(truth, y)).sum(axis=0), acceptance.mean()

    found, acceptance = jax.jit(jax.vmap(replicate))(jax.random.split(jax.random.key(2), REPLICATIONS))
    return np.asarray(found), float(acceptance.mean())


def surprise(found):
    """The largest of the standardised χ² of the binned ranks, and of their mean and spread, over quantities."""
    counts = np.stack([np.bincount(column * BINS // (KEPT + 1), minlength=BINS) for column in found.T])
    chi2 = ((counts - REPLICATIONS / BINS) ** 2).sum(axis=1) / (REPLICATIONS / BINS)
    uniform = (found + 0.5) / (KEPT + 1) - 0.5
    mean = uniform.mean(axis=0) * np.sqrt(12 * REPLICATIONS)
    spread = (uniform**2 - 1 / 12).mean(axis=0) * np.sqrt(180 * REPLICATIONS)
    return max(np.abs((chi2 - BINS + 1) / np.sqrt(2 * (BINS - 1))).max(), np.abs(mean).max(), np.abs(spread).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_ranks_are_uniform(name):
    found, acceptance = ranks(*METHODS[name])
    assert found.shape == (REPLICATIONS, 4)
    assert 0.5 < acceptance < 0.99
    assert surprise(found) < 4.0


@pytest.mark.slow
def test_a_wrong_determinant_is_noticed(monkeypatch):
    monkeypatch.setattr(mp.Fisher, "log_det", lambda self, point: 0.0 * point.logdensity)
    found, _ = ranks(*METHODS["LMC-Fisher"])
    assert surprise(found) > 6.0


@pytest.mark.slow
def test_a_missing_determinant_of_whitened_coordinates_is_noticed(monkeypatch):
    jax.clear_caches()  # a traced density of before the mistake would hide it
    right = SparseAlgebra.draw_with_log_det

    def without(self, *parts):
        drawn, log_det = right(self, *parts)
        return drawn, jnp.zeros_like(log_det)

    monkeypatch.setattr(SparseAlgebra, "draw_with_log_det", without)
    found, _ = ranks(*METHODS["NUTS, whitened"])
    jax.clear_caches()
    assert surprise(found) > 6.0


@pytest.mark.slow
def test_a_missing_determinant_of_maps_is_noticed(monkeypatch):
    right = OuterMap.forward_each
    monkeypatch.setattr(OuterMap, "forward_each", lambda self, u: (right(self, u)[0], jnp.zeros_like(u)))
    found, _ = ranks(*METHODS["NUTS, mapped"])
    assert surprise(found) > 6.0
