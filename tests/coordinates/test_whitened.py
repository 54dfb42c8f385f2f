"""Whitened densities: maps that are inverted, determinants that are those of the maps, and z that is normal noise."""

import time
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import slow_but
from hierarchies import GROUPS, grouped_data, groups, hierarchy, information_at, whitening
from numpyro.infer.util import potential_energy

import mongepatch as mp
from mongepatch.coordinates.algebra import DenseAlgebra, SparseAlgebra

RNG = np.random.default_rng(4)
GROUP, Y = grouped_data([2, 30, 1])
X, RETURNS = RNG.normal(size=(40, 30)), RNG.normal(size=12)
POINTS = 24


def centred_groups():
    groups(GROUP, Y)


def walk():
    sigma = numpyro.sample("sigma", dist.HalfNormal(0.5))
    h = numpyro.sample("h", dist.GaussianRandomWalk(sigma, 12))
    numpyro.sample("y", dist.Normal(0, jnp.exp(0.5 * h)), obs=RETURNS)


def gaussian_process():
    length = numpyro.sample("length", dist.InverseGamma(3.0, 1.0))
    x = np.linspace(0, 1, POINTS)
    kernel = jnp.exp(-jnp.abs(x[:, None] - x) / length) + 1e-3 * jnp.eye(POINTS)
    f = numpyro.sample("f", dist.MultivariateNormal(jnp.zeros(POINTS), kernel))
    numpyro.sample("y", dist.Normal(f, 0.3), obs=np.sin(6 * x))


def regression():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    beta = numpyro.sample("beta", dist.Normal(0, tau).expand([30]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=X[:, 0] > 0)


def horseshoe():
    tau = numpyro.sample("tau", dist.HalfNormal(1).expand([30]).to_event(1))
    beta = numpyro.sample("beta", dist.Normal(0, tau).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=X[:, 0] > 0)


def non_centred_groups():
    mu, tau = numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("tau", dist.HalfNormal(1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([3]).to_event(1))
    numpyro.sample("y", dist.Normal((mu + tau * z)[GROUP], numpyro.sample("sigma", dist.HalfNormal(1))), obs=Y)


def non_centred_regression():
    tau, sigma = numpyro.sample("tau", dist.HalfNormal(1)), numpyro.sample("sigma", dist.HalfNormal(1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([16]).to_event(1))
    numpyro.sample("y", dist.Normal(X[:, :16] @ (tau * z), sigma), obs=X[:, 17])


ALGEBRAS = {
    centred_groups: (SparseAlgebra, True),
    non_centred_groups: (SparseAlgebra, True),
    non_centred_regression: (SparseAlgebra, True),
    walk: (SparseAlgebra, True),
    gaussian_process: (DenseAlgebra, True),
    regression: (SparseAlgebra, True),
    horseshoe: (SparseAlgebra, False),  # data would couple more coordinates than pays where each has a scale
}


def informed(model):
    """The density in coordinates that know of the data, and those of a model."""
    target = mp.from_numpyro(model)
    found = whitening(target)
    positions = 0.5 * np.random.default_rng(0).normal(size=(20, target.dimension))
    information = information_at(found, positions)
    assert np.abs(information.matrix).max() > 0
    return target, replace(found.initial, information=information)


def random_positions(dimension, count=3):
    return 0.7 * jax.random.normal(jax.random.key(0), (count, dimension))


FAST = (centred_groups, non_centred_groups)


@pytest.mark.parametrize("model", slow_but(ALGEBRAS, *FAST), ids=lambda model: model.__name__)
def test_maps_are_inverted_and_have_their_determinants(model):
    target, density = informed(model)
    kind, couples_data = ALGEBRAS[model]
    assert type(density.plan.algebra) is kind
    assert density.plan.couples_data is couples_data
    to_model, from_model = jax.jit(density.to_model), jax.jit(density.from_model)
    jacobian = jax.jit(jax.jacfwd(density.to_model))
    for y in random_positions(target.dimension):
        x = to_model(y)
        np.testing.assert_allclose(from_model(x), y, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(x[density.plan.outer], y[density.plan.outer], rtol=1e-12)
        log_det = jnp.linalg.slogdet(jacobian(y))[1]
        np.testing.assert_allclose(density(y), target(x) + log_det, rtol=1e-9)


def schools(y, errors):
    mu, tau = numpyro.sample("mu", dist.Normal(1, 5)), numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(y)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, errors), obs=y)


def non_centred_schools(y, errors):
    mu, tau = numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(y)):
        theta = numpyro.sample("theta", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(1 + 5 * mu + tau * theta, errors), obs=y)


SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0]), np.array([15.0, 10.0, 16.0, 11.0])


def test_without_information_the_form_is_non_centred():
    density = whitening(mp.from_numpyro(schools, *SCHOOLS)).initial
    differences = []
    for position in random_positions(6):
        log_tau, mu, theta = position[0], position[1], position[2:]
        by_hand = {"tau": log_tau, "mu": mu, "theta": theta}
        model_position = jnp.concatenate([1 + 5 * mu[None], log_tau[None], 1 + 5 * mu + jnp.exp(log_tau) * theta])
        y = density.from_model(model_position)
        np.testing.assert_allclose(density.to_model(y), model_position, rtol=1e-8)
        differences.append(density(y) + potential_energy(non_centred_schools, SCHOOLS, {}, by_hand))
        # The same up to an order and a rotation, which depends on the order of elimination.
        np.testing.assert_allclose(jnp.linalg.norm(y[density.plan.inner]) ** 2, mu**2 + theta @ theta, rtol=1e-8)
    np.testing.assert_allclose(np.ptp(differences), 0.0, atol=1e-8)


@pytest.mark.parametrize("outer", [-6.0, 0.0, 4.0])
def test_of_normal_data_z_is_noise_whatever_the_scales(outer):
    target = mp.from_numpyro(schools, *SCHOOLS)
    found = whitening(target)
    information = information_at(found, np.random.default_rng(1).normal(size=(10, 6)))
    density = replace(found.initial, information=information)
    y = jax.random.normal(jax.random.key(0), (6,)).at[density.plan.outer].set(outer)
    gradient = jax.grad(density)(y)
    np.testing.assert_allclose(
        gradient[density.plan.inner], -y[density.plan.inner], atol=1e-5
    )  # P has a diagonal larger by roundings


NON_CENTRED = {non_centred_groups: False, non_centred_regression: True}
"""Whether data couples the predictors."""


@pytest.mark.parametrize("model", NON_CENTRED, ids=lambda model: model.__name__)
@pytest.mark.parametrize("outer", [-3.0, 2.0])
def test_of_normal_data_z_is_noise_in_models_that_are_written_non_centred(model, outer):
    """What data says about z changes with τ, and is learnt at other values of it."""
    _, density = informed(model)
    plan = density.plan
    assert plan.predictors._is_dense is NON_CENTRED[model]
    y = jax.random.normal(jax.random.key(0), (plan.dimension,)).at[plan.outer].set(outer)
    np.testing.assert_allclose(jax.grad(density)(y)[plan.inner], -y[plan.inner], atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")  # it looks at times
def test_many_groups_are_whitened_in_seconds():
    group, y = grouped_data(np.tile([1, 3], 5_000))
    target = mp.from_numpyro(groups, group, y)
    started = time.perf_counter()
    found = whitening(target)
    information = information_at(found, np.random.default_rng(0).normal(size=(8, target.dimension)))
    density = replace(found.initial, information=information)
    gradient = jax.jit(jax.grad(density))
    position = jnp.ones(target.dimension)
    slopes = gradient(position).block_until_ready()
    assert time.perf_counter() - started < 60  # some seconds, on a machine that has nothing else to do
    np.testing.assert_allclose(slopes[density.plan.inner], -position[density.plan.inner], atol=1e-5)
    started = time.perf_counter()
    gradient(position).block_until_ready()
    assert time.perf_counter() - started < 1


def test_places_that_no_number_resolves_are_left_out():
    """Where the scale is far below the means, a residual is the difference of numbers that are equal, but for rounding.

    In single precision that is below e⁻¹⁴, in double below e⁻³⁴.
    """
    found = {}
    for precision in (np.float64, np.float32):
        jax.config.update("jax_enable_x64", precision is np.float64)
        try:
            density = jax.jit(jax.value_and_grad(mp.whiten(hierarchy()).logdensity))
            z = np.append(1.3, np.full(GROUPS, 0.5))
            found[precision] = [density(jnp.asarray(np.append(z, v), precision)) for v in (-5.0, -11.0, -16.0, -36.0)]
        finally:
            jax.config.update("jax_enable_x64", True)
    for exact, rounded in zip(found[np.float64][:2], found[np.float32][:2], strict=True):
        assert float(rounded[0]) == pytest.approx(float(exact[0]), abs=0.1)
    for value, gradient in (found[np.float32][2], found[np.float64][3]):
        assert value == -np.inf
        assert (np.asarray(gradient) == 0.0).all()
    assert np.isfinite(found[np.float64][2][0])


@pytest.mark.parametrize(("level", "scale", "count"), [(1e5, 1e-3, 4), (100.0, 0.01, 20_000)], ids=["mixed", "many"])
def test_places_that_single_precision_resolves_are_kept(level, scale, count):
    """Effects far smaller than an intercept beside them, and many groups, of which each is rounded by little."""

    def density(p):
        z = p["theta"] / jnp.exp(p["v"]) if count == 4 else (p["theta"] - p["mu"]) / jnp.exp(p["v"])
        return -0.5 * (z @ z + ((p["mu"] - level) / level) ** 2 + p["v"] ** 2) - count * p["v"]

    def of(p):
        z = p["theta"] / jnp.exp(p["v"]) if count == 4 else (p["theta"] - p["mu"]) / jnp.exp(p["v"])
        return {"theta": z, "mu": (p["mu"] - level) / level, "v": p["v"]}

    jax.config.update("jax_enable_x64", False)
    try:
        target = mp.Target.from_density(density, {"mu": 0.0, "theta": jnp.zeros(count), "v": 0.0}).with_residuals(of)
        position = jnp.zeros(target.dimension).at[-1].set(np.log(scale))
        assert np.isfinite(mp.whiten(target).logdensity(position))
    finally:
        jax.config.update("jax_enable_x64", True)
