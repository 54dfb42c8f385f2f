"""Likelihoods of NumPyro models that are computed at once have the density of those computed term by term."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import sample_quietly
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from numpyro.infer.util import potential_energy

import mongepatch as mp

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = RNG.integers(0, 2, size=40)


def coefficients():
    return numpyro.sample("beta", dist.Normal(0, 1).expand([3]).to_event(1))


def plain():
    numpyro.sample("y", dist.Bernoulli(logits=X @ coefficients()), obs=Y)


def as_an_event():
    numpyro.sample("y", dist.Bernoulli(logits=X @ coefficients()).to_event(1), obs=jnp.asarray(Y))


def as_truths():
    numpyro.sample("y", dist.Bernoulli(logits=X @ coefficients()), obs=Y == 1)


def in_a_plate():
    log_odds = X @ coefficients()
    with numpyro.plate("rows", 40):
        numpyro.sample("y", dist.BernoulliLogits(log_odds), obs=Y)


def scaled():
    log_odds = X @ coefficients()
    with handlers.scale(scale=2.5):
        numpyro.sample("y", dist.Bernoulli(logits=log_odds), obs=Y)


def in_a_table():
    table = (X @ coefficients()).reshape(8, 5)
    with numpyro.plate("rows", 8, dim=-2), numpyro.plate("columns", 5, dim=-1):
        numpyro.sample("y", dist.Bernoulli(logits=table), obs=Y.reshape(8, 5))


def one_by_one():
    beta = coefficients()

    def row(carry, given):
        x, y = given
        numpyro.sample("y", dist.Bernoulli(logits=x @ beta), obs=y)
        return carry, None

    scan(row, None, (jnp.asarray(X), jnp.asarray(Y)))


def some_are_masked():
    log_odds = X @ coefficients()
    with handlers.mask(mask=np.arange(40) < 30):
        numpyro.sample("y", dist.Bernoulli(logits=log_odds), obs=Y)


def each_has_a_scale():
    log_odds = X @ coefficients()
    with handlers.scale(scale=np.linspace(0.5, 1.5, 40)):
        numpyro.sample("y", dist.Bernoulli(logits=log_odds), obs=Y)


def log_odds_are_shared():
    shared = coefficients()[0]
    with numpyro.plate("rows", 40):
        numpyro.sample("y", dist.Bernoulli(logits=shared), obs=Y)


def outcomes_are_computed():
    beta = coefficients()
    numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=jnp.where(beta[0] > 0, Y, Y))


def probabilities():
    numpyro.sample("y", dist.Bernoulli(probs=jax.nn.sigmoid(X @ coefficients())), obs=Y)


def small_integers():
    numpyro.sample("y", dist.Bernoulli(logits=X @ coefficients()), obs=Y.astype(np.uint8))


def some_are_no_outcomes():
    numpyro.sample("y", dist.Bernoulli(logits=X @ coefficients()), obs=np.where(np.arange(40) == 7, 2, Y))


AT_ONCE = (
    plain,
    as_an_event,
    as_truths,
    in_a_plate,
    scaled,
    in_a_table,
    outcomes_are_computed,
    small_integers,
    some_are_no_outcomes,
)
TERM_BY_TERM = (some_are_masked, each_has_a_scale, log_odds_are_shared, probabilities)


# NumPyro warns of the model that has a 2 among its outcomes.
@pytest.mark.filterwarnings("ignore:Out-of-support values")
@pytest.mark.parametrize("model", [*AT_ONCE, one_by_one, *TERM_BY_TERM])
def test_density_and_gradient_are_those_of_numpyro(model):
    target = mp.from_numpyro(model)
    ours = jax.jit(jax.value_and_grad(target))
    theirs = jax.jit(jax.value_and_grad(lambda x: -potential_energy(model, (), {}, {"beta": x})))
    for position in RNG.normal(size=(3, 3)):
        found, expected = ours(position), theirs(position)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        if np.isfinite(found[0]):
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


@pytest.mark.parametrize("model", [*AT_ONCE, *TERM_BY_TERM])
def test_what_is_computed_at_once(model):
    program = str(jax.make_jaxpr(mp.from_numpyro(model).logdensity)(jnp.zeros(3)))
    assert ("_sum_of_log_logistic" in program) is (model in AT_ONCE)


def test_the_log_likelihood_of_a_result_is_still_term_by_term():
    target = mp.from_numpyro(plain)
    settings = {"metric": mp.Euclidean(), "trajectory": mp.Static(2), "step_size": 0.1, "warmup": 0}
    tree = sample_quietly(target, **settings, draws=3, chains=2, progress=False, log_likelihood=True)
    assert tree["log_likelihood"]["y"].shape == (2, 3, 40)
