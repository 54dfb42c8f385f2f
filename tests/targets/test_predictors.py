"""Linear predictors: data of models that are written non-centred knows their effects by few numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import mongepatch as mp
from mongepatch.targets.inner import inner_coordinates

RNG = np.random.default_rng(0)
GROUP = np.repeat(np.arange(5), 4)
X, Y = RNG.normal(size=(20, 3)), RNG.normal(size=20)


def groups():
    mu, tau = numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("tau", dist.HalfNormal(1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([5]).to_event(1))
    numpyro.sample("y", dist.Normal((mu + tau * z)[GROUP], numpyro.sample("sigma", dist.HalfNormal(1))), obs=Y)


def normal_log_scale():
    mu, log_tau = numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("log_tau", dist.Normal(0, 1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([5]).to_event(1))
    numpyro.sample("y", dist.Poisson(jnp.exp(mu + jnp.exp(log_tau) * z)[GROUP]), obs=np.abs(Y).astype(int))


def regression():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([3]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=X @ (tau * z)), obs=Y > 0)


def fewer_observations_than_features():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([20]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=X.T @ (tau * z)), obs=Y[:3] > 0)


def centred():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    theta = numpyro.sample("theta", dist.Normal(0, tau).expand([5]).to_event(1))
    numpyro.sample("y", dist.Normal(theta[GROUP], 1), obs=Y)


def product_of_two_effects():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    a = numpyro.sample("a", dist.Normal(0, 1).expand([5]).to_event(1))
    numpyro.sample("y", dist.Normal((tau * a * a)[GROUP], 1), obs=Y)


FOUND = {groups: (5, 6), normal_log_scale: (5, 6), regression: (3, 3), fewer_observations_than_features: (3, 20)}
"""How many predictors, and how many inner coordinates."""


def inner_of(model):
    target = mp.from_numpyro(model)
    return target, inner_coordinates(target.model, jax.ShapeDtypeStruct((target.dimension,), float))


@pytest.mark.parametrize("model", FOUND, ids=lambda model: model.__name__)
def test_they_are_the_smallest_arrays_between_inner_coordinates_and_data(model):
    target, found = inner_of(model)
    assert (found.predictor_pattern.shape[0], len(found.inner)) == FOUND[model]
    x = 0.5 * jax.random.normal(jax.random.key(0), (target.dimension,))
    eta = found.data.predictors(x)
    # Affine in the inner coordinates: the predictor of a mean is the mean of the predictors.
    other = x.at[found.inner].set(-1.0)
    middle = found.data.predictors((x + other) / 2)
    np.testing.assert_allclose(middle, (eta + found.data.predictors(other)) / 2, rtol=1e-12)
    # Data knows the inner coordinates by them alone.
    expected = [site.log_likelihood for site in target.model.data(x)]
    np.testing.assert_allclose(found.data.log_likelihoods(jnp.concatenate([eta, other])), expected, rtol=1e-12)


def walk_as_a_sum_of_steps():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([100]).to_event(1))
    numpyro.sample("y", dist.Normal(jnp.cumsum(tau * z), 1), obs=np.zeros(100))


def spike_and_slab():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    gate, slope = (numpyro.sample(name, dist.Normal(0, 1).expand([5]).to_event(1)) for name in ("gate", "slope"))
    numpyro.sample("y", dist.Normal(jnp.where(gate > 0, tau * slope, 0.0)[GROUP], 1), obs=Y)


def mixed_precision():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([5]).to_event(1))
    numpyro.sample("y", dist.Normal(jnp.sin((tau * z).astype(jnp.float32))[GROUP], 1), obs=Y)


@pytest.mark.parametrize("model", [spike_and_slab, mixed_precision], ids=lambda model: model.__name__)
def test_a_cut_has_one_precision_and_no_comparisons(model):
    target, found = inner_of(model)
    x = 0.5 * jax.random.normal(jax.random.key(1), (target.dimension,))
    argument = x if found.data.predictors is None else jnp.concatenate([found.data.predictors(x), x])
    expected = [site.log_likelihood for site in target.model.data(x)]
    np.testing.assert_allclose(found.data.log_likelihoods(argument), expected, rtol=1e-6)


WITHOUT = [centred, product_of_two_effects, walk_as_a_sum_of_steps]


@pytest.mark.parametrize("model", WITHOUT, ids=lambda model: model.__name__)
def test_there_are_none_where_they_do_not_change_with_scales_or_are_not_affine_or_couple_too_many(model):
    _, found = inner_of(model)
    assert found is None or found.data.predictors is None
