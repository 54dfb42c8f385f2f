"""The log likelihood of zeros and ones: its value, its derivatives, and where it is at the limits of a number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mongepatch.targets.bernoulli import bernoulli_log_likelihood

RNG = np.random.default_rng(0)


def plainly(log_odds, signs):
    return -np.logaddexp(0.0, -np.asarray(signs, np.longdouble) * np.asarray(log_odds, np.longdouble)).sum()


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 270, 511, 512, 513, 20_001])
@pytest.mark.parametrize("spread", [0.0, 1.0, 50.0])
def test_it_is_the_sum_of_logarithms(size, spread):
    log_odds, signs = spread * RNG.normal(size=size), RNG.choice([-1.0, 1.0], size=size)
    found = float(jax.jit(bernoulli_log_likelihood)(log_odds, signs))
    # A rounding error of half a unit in the last place of 1 for each factor, and that of the sum.
    assert found == pytest.approx(float(plainly(log_odds, signs)), rel=1e-13, abs=1e-16 * size)


def test_single_precision_keeps_small_terms():
    log_odds = jnp.full(100_000, 20.0, jnp.float32)
    found = bernoulli_log_likelihood(log_odds, jnp.ones_like(log_odds))
    assert found.dtype == jnp.float32
    assert float(found) == pytest.approx(float(plainly(log_odds, 1.0)), rel=1e-4)  # of products of 1 + 2e-9 it were 0


def test_outcomes_in_a_table_are_added_up():
    log_odds, signs = RNG.normal(size=(7, 11)), RNG.choice([-1.0, 1.0], size=(7, 11))
    found = bernoulli_log_likelihood(jnp.asarray(log_odds), jnp.asarray(signs))
    assert float(found) == pytest.approx(float(plainly(log_odds, signs)), rel=1e-13)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_four_derivatives_are_exact(sign, device, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: device)  # which decides what is computed, wherever it runs
    log_odds = jnp.array([-40.0, -3.0, 0.0, 0.5, 40.0])

    def ours(z):
        return bernoulli_log_likelihood(z[None], jnp.array([sign]))

    def theirs(z):
        return -jax.nn.softplus(-sign * z)

    for _ in range(5):
        found, expected = (jax.jit(jax.vmap(function))(log_odds) for function in (ours, theirs))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=3e-16)
        ours, theirs = jax.grad(ours), jax.grad(theirs)


def test_forward_and_reverse_derivatives_are_the_same():
    log_odds, signs = jnp.asarray(RNG.normal(size=50)), jnp.asarray(RNG.choice([-1.0, 1.0], size=50))
    reverse = jax.jit(jax.hessian(lambda z: bernoulli_log_likelihood(z, signs)))(log_odds)
    forward = jax.jit(jax.jacfwd(jax.jacfwd(lambda z: bernoulli_log_likelihood(z, signs))))(log_odds)
    np.testing.assert_allclose(reverse, forward, rtol=1e-14)
    rate = 1 / (1 + np.exp(-np.asarray(log_odds)))
    np.testing.assert_allclose(reverse, np.diag(-rate * (1 - rate)), rtol=1e-13)


@pytest.mark.parametrize(("log_odds", "value"), [(np.inf, 0.0), (-np.inf, -np.inf), (np.nan, np.nan)])
def test_infinite_log_odds(log_odds, value):
    np.testing.assert_equal(float(bernoulli_log_likelihood(jnp.array([log_odds, 40.0]), jnp.ones(2))), value)


def test_a_gradient_takes_one_exponential_an_outcome_and_few_logarithms():
    """Of what the compiler is left with, for 1,000 outcomes."""
    signs = jnp.ones(1000)
    both = jax.jit(jax.value_and_grad(lambda z: bernoulli_log_likelihood(z, signs)))
    text = both.lower(jnp.zeros(1000)).compile().as_text()
    computed = {name: [line for line in text.splitlines() if f" {name}(" in line] for name in ("exponential", "log")}
    assert sum("[1000]" in line for line in computed["exponential"]) == 1
    assert computed["log"]
    assert not any("[1000]" in line for line in computed["log"])
    assert "log-plus-one" not in text
