"""The kernel for NumPyro's MCMC: it samples what NumPyro's NUTS samples, chain after chain or side by side."""

import pickle
import subprocess
import sys

import arviz_base
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

import mongepatch as mp
from mongepatch.bench.reference import known_from
from mongepatch.numpyro import PatchNUTS


def model(y):
    scale = numpyro.sample("scale", dist.Gamma(3.0, 1.0))
    with numpyro.plate("group", 2):
        numpyro.sample("x", dist.Normal(1.0, 2.0))
    numpyro.deterministic("twice", 2 * scale)
    numpyro.sample("y", dist.Normal(jnp.zeros(()), 1.0), obs=y)


def run(chain_method, chains, **options):
    kernel = PatchNUTS(model, trajectory=mp.Static(6, jitter=0.5), **options)
    mcmc = MCMC(
        kernel, num_warmup=200, num_samples=400, num_chains=chains, chain_method=chain_method, progress_bar=False
    )
    mcmc.run(jax.random.key(0), jnp.ones(3), extra_fields=("accept_prob", "num_steps"))
    return mcmc


@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
@pytest.mark.parametrize(("chain_method", "chains"), [("sequential", 1), ("vectorized", 10)])
def test_draws_are_of_the_posterior(chain_method, chains):
    mcmc = run(chain_method, chains)
    draws = mcmc.get_samples()
    assert draws["x"].shape == (400 * chains, 2)
    np.testing.assert_allclose(draws["twice"], 2 * draws["scale"])
    tolerance = 1.2 / chains**0.5  # of some hundred effective draws a chain
    assert float(draws["scale"].mean()) == pytest.approx(3.0, abs=tolerance)
    assert float(draws["scale"].std()) == pytest.approx(3.0**0.5, abs=tolerance)
    np.testing.assert_allclose(draws["x"].mean(0), 1.0, atol=tolerance)
    np.testing.assert_allclose(draws["x"].std(0), 2.0, atol=tolerance)
    extra = mcmc.get_extra_fields()
    assert 0.65 < float(extra["accept_prob"].mean()) < 0.97
    assert not extra["diverging"].any()
    if chains == 1:
        assert "steps of size" in mcmc.sampler.get_diagnostics_str(mcmc.last_state)


def test_data_cannot_be_changed_under_compiled_code():
    mcmc = MCMC(PatchNUTS(model), num_warmup=2, num_samples=2, progress_bar=False, jit_model_args=True)
    with pytest.raises(mp.ModelError, match="jit_model_args"):
        mcmc.run(jax.random.key(0), jnp.ones(3))


SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])


def schools():
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, SIGMA), obs=Y)


def log_tau_by_quadrature():
    """Mean and standard deviation: given tau, all else is normal and integrates in closed form."""

    def log_density(u):
        covariance = np.diag(SIGMA**2 + np.exp(2 * u)) + 25.0
        misfit = Y @ np.linalg.solve(covariance, Y)
        return u - np.log1p(np.exp(2 * u) / 25) - 0.5 * (np.linalg.slogdet(covariance)[1] + misfit)

    u = np.linspace(-30.0, 12.0, 2001)
    weights = np.exp([log_density(at) for at in u])
    mean, square = (np.average(u**power, weights=weights) for power in (1, 2))
    return mean, np.sqrt(square - mean**2)


@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
def test_a_centred_hierarchy_is_sampled_down_to_its_neck():
    kernel = PatchNUTS(schools)
    mcmc = MCMC(kernel, num_warmup=400, num_samples=1500, num_chains=10, chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.key(2))
    seen = known_from({"log tau": np.log(mcmc.get_samples(group_by_chain=True)["tau"])})["log tau"]
    mean, sd = log_tau_by_quadrature()
    assert max(seen.mean_error, seen.sd_error) < 0.03  # NUTS without the patch is off by more than 0.12
    assert abs(seen.mean - mean) < 4 * seen.mean_error
    assert abs(seen.sd - sd) < 4 * seen.sd_error
    assert not mcmc.get_extra_fields()["diverging"].any()
