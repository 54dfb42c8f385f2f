"""The kernel for NumPyro's MCMC: it samples what NumPyro's NUTS samples, chain after chain or side by side."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

import mongepatch as mp
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
