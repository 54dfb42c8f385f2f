"""Which coordinates of models are inner: those that are linear in all latent residuals, given the others."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import slow_but
from hierarchies import grouped_data, groups
from numpyro.contrib.control_flow import scan

import mongepatch as mp
from mongepatch.targets.inner import inner_coordinates

GROUP, Y = grouped_data([2, 3, 1])
TIMES = 6


def centred_groups():
    groups(GROUP, Y)


def correlated_slopes():
    beta = numpyro.sample("beta", dist.Normal(0, 2).expand([2]).to_event(1))
    tau = numpyro.sample("tau", dist.HalfNormal(1).expand([2]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, 2.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    with numpyro.plate("group", 3):
        effects = numpyro.sample("effects", dist.MultivariateNormal(beta, scale_tril=tau[:, None] * factor))
    numpyro.sample("y", dist.Normal(effects[GROUP, 0] + effects[GROUP, 1] * np.arange(6.0), sigma), obs=Y)


def volatility():
    mu, sigma = numpyro.sample("mu", dist.Normal(0, 2)), numpyro.sample("sigma", dist.HalfNormal(0.5))
    h = numpyro.sample("h", dist.GaussianRandomWalk(sigma, TIMES))
    numpyro.sample("y", dist.Normal(0, jnp.exp(0.5 * (mu + h))), obs=Y)


def state_space():
    rho, sigma = numpyro.sample("rho", dist.Uniform(-1, 1)), numpyro.sample("sigma", dist.HalfNormal(1))

    def step(before, y):
        x = numpyro.sample("x", dist.Normal(rho * before, sigma))
        numpyro.sample("y", dist.Normal(x, 0.5), obs=y)
        return x, None

    scan(step, 0.0, jnp.asarray(Y))


def disease_map():
    tau = numpyro.sample("tau", dist.Gamma(2.0, 1.0))
    ring = np.roll(np.eye(TIMES), 1, axis=0) + np.roll(np.eye(TIMES), -1, axis=0)
    phi = numpyro.sample("phi", dist.CAR(0.0, 0.5, tau, ring))
    numpyro.sample("y", dist.Poisson(jnp.exp(phi)), obs=np.arange(TIMES))


def gaussian_process():
    length, scale = numpyro.sample("length", dist.InverseGamma(3.0, 2.0)), numpyro.sample("scale", dist.HalfNormal(1))
    x = np.linspace(0, 1, TIMES)
    kernel = scale**2 * jnp.exp(-0.5 * ((x[:, None] - x) / length) ** 2) + 1e-6 * jnp.eye(TIMES)
    f = numpyro.sample("f", dist.MultivariateNormal(jnp.zeros(TIMES), kernel))
    numpyro.sample("y", dist.Normal(f, 0.3), obs=Y)


def horseshoe():
    tau = numpyro.sample("tau", dist.HalfCauchy(1))
    lam = numpyro.sample("lam", dist.HalfCauchy(1).expand([3]).to_event(1))
    beta = numpyro.sample("beta", dist.Normal(0, tau * lam).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=np.random.default_rng(0).normal(size=(6, 3)) @ beta), obs=Y > 0.5)


def logistic_regression():
    beta = numpyro.sample("beta", dist.Normal(0, 2).expand([3]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=np.random.default_rng(0).normal(size=(6, 3)) @ beta), obs=Y > 0.5)


def product():
    x, y = numpyro.sample("x", dist.Normal(0, 1)), numpyro.sample("y", dist.Normal(0, 1))
    numpyro.sample("z", dist.Normal(x * y, 1))


MODELS = {
    centred_groups: {"theta", "mu"},
    correlated_slopes: {"effects", "beta"},
    volatility: {"h", "mu"},
    state_space: {"x"},
    disease_map: {"phi"},
    gaussian_process: {"f"},
    horseshoe: {"beta"},
    logistic_regression: set(),
}


def inner_names(target):
    """Variables all of whose coordinates are inner; no other may have one that is."""
    found = inner_coordinates(target.model, jax.ShapeDtypeStruct((target.dimension,), float))
    if found is None:
        return set()
    of_name = target.layout.named(np.arange(target.dimension))
    names = {name for name, own in of_name.items() if np.isin(own, found.inner).all()}
    assert not any(np.isin(own, found.inner).any() for name, own in of_name.items() if name not in names)
    return names


@pytest.mark.parametrize(
    "model", slow_but(MODELS, *(set(MODELS) - {correlated_slopes, gaussian_process})), ids=lambda model: model.__name__
)
def test_inner_coordinates_are_those_that_can_be_whitened(model):
    target = mp.from_numpyro(model)
    inner = inner_names(target)
    assert inner == MODELS[model]
    last = target.describe().splitlines()[-1]
    if inner:
        words = last.removeprefix("Inner coordinates, which can be whitened given the outer ones: ")
        whitened, given = words.split(" given ")
        assert set(whitened.replace(" and ", ", ").split(", ")) == inner
        assert set(given.removesuffix(".").replace(" and ", ", ").split(", ")) == set(target.layout.names) - inner
    else:
        assert last == "No coordinate is inner, so that nothing can be whitened."


def test_data_of_a_regression_is_not_looked_at_further(monkeypatch):
    monkeypatch.setattr("mongepatch.targets.inner._data_programs", lambda *_: pytest.fail("was traced"))
    assert inner_names(mp.from_numpyro(logistic_regression)) == set()


def test_of_two_factors_only_one_is_inner():
    assert len(inner_names(mp.from_numpyro(product)) & {"x", "y"}) == 1
    assert "z" in inner_names(mp.from_numpyro(product))


def test_a_target_without_residuals_says_nothing_of_them():
    assert "nner" not in mp.targets.funnel(3).describe()
