"""The kernel for NumPyro's MCMC: it samples what NumPyro's NUTS samples, chain after chain or side by side."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import arviz_base
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import known_from, slow_but
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
@pytest.mark.parametrize(("chain_method", "chains"), slow_but([("sequential", 1), ("vectorized", 10)]))
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


@pytest.mark.slow
def test_the_next_run_has_its_own_data():
    def normal(y):
        x = numpyro.sample("x", dist.Normal(0.0, 10.0))
        numpyro.sample("y", dist.Normal(x, 0.1), obs=y)

    kernel = PatchNUTS(normal, trajectory=mp.Static(4, jitter=0.5))
    mcmc = MCMC(kernel, num_warmup=100, num_samples=50, progress_bar=False)
    for y in (jnp.ones(3), jnp.full(5, 2.0), jnp.ones(3)):
        mcmc.run(jax.random.key(0), y)
        assert float(mcmc.get_samples()["x"].mean()) == pytest.approx(float(y[0]), abs=0.1)


@pytest.mark.slow
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


def half_cauchy(tau):
    return -np.log1p(tau**2 / 25)


def log_tau_by_quadrature(means=Y, errors=SIGMA, variance_of_mu=25.0, log_prior=half_cauchy):
    """Mean and standard deviation: given tau, all else is normal and integrates in closed form."""

    def log_density(u):
        covariance = np.diag(errors**2 + np.exp(2 * u)) + variance_of_mu
        misfit = means @ np.linalg.solve(covariance, means)
        return u + log_prior(np.exp(u)) - 0.5 * (np.linalg.slogdet(covariance)[1] + misfit)

    u = np.linspace(-30.0, 12.0, 2001)
    values = np.array([log_density(at) for at in u])
    weights = np.exp(values - values.max())
    mean, square = (np.average(u**power, weights=weights) for power in (1, 2))
    return mean, np.sqrt(square - mean**2)


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
def test_a_centred_hierarchy_is_sampled_down_to_its_neck():
    kernel = PatchNUTS(schools)
    mcmc = MCMC(kernel, num_warmup=400, num_samples=1500, num_chains=10, chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.key(2))
    seen = known_from({"log tau": np.log(mcmc.get_samples(group_by_chain=True)["tau"])})["log tau"]
    mean, sd = log_tau_by_quadrature()
    assert max(seen.mean_error, seen.sd_error) < 0.03  # NumPyro's NUTS is off by 0.2 and more
    assert abs(seen.mean - mean) < 4 * seen.mean_error
    assert abs(seen.sd - sd) < 4 * seen.sd_error
    assert mcmc.get_extra_fields()["diverging"].mean() < 0.001


@pytest.mark.slow  # its twin with whitened coordinates is not
def test_arviz_reads_a_run():
    kernel = PatchNUTS(schools, trajectory=mp.Static(3))
    mcmc = MCMC(kernel, num_warmup=5, num_samples=4, num_chains=2, chain_method="vectorized", progress_bar=False)
    fields = ("accept_prob", "num_steps", "potential_energy", "energy", "adapt_state.step_size")
    mcmc.run(jax.random.key(0), extra_fields=fields)
    tree = arviz_base.from_numpyro(mcmc, log_likelihood=True)
    assert set(tree["posterior"].data_vars) == {"mu", "tau", "theta"}
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "school")
    stats = {"acceptance_rate", "diverging", "energy", "lp", "n_steps", "step_size", "tree_depth"}
    assert set(tree["sample_stats"].data_vars) == stats
    assert tree["log_likelihood"]["y"].shape == (2, 4, 8)
    flat = {name: draws[-1] for name, draws in mcmc.get_samples().items()}
    expected = numpyro.infer.util.log_density(schools, (), {}, flat)[0] + np.log(flat["tau"])
    np.testing.assert_allclose(-mcmc.get_extra_fields()["potential_energy"][-1], expected)
    np.testing.assert_allclose(abs(tree["sample_stats"]["lp"][-1, -1]), abs(expected))  # older ArviZ turns its sign
    assert np.isfinite(tree["sample_stats"]["energy"]).all()


@pytest.mark.slow
def test_a_run_is_warmed_up_once_and_goes_on(capsys):
    kernel = PatchNUTS(schools, trajectory=mp.Static(3), step_size=0.5)
    mcmc = MCMC(kernel, num_warmup=30, num_samples=5, num_chains=2, chain_method="vectorized", progress_bar=False)
    start = {"mu": jnp.array([1.0, 2.0]), "tau": jnp.array([0.5, 0.7]), "theta": jnp.ones((2, 8))}
    mcmc.warmup(jax.random.key(0), init_params=start, collect_warmup=True)
    assert mcmc.get_samples()["mu"].shape == (60,)
    warm = mcmc.post_warmup_state
    assert (warm.i == 30).all()
    mcmc.run(jax.random.key(1))
    first = mcmc.last_state
    mcmc.post_warmup_state = first
    mcmc.run(first.rng_key)
    assert (mcmc.last_state.i == 40).all()
    np.testing.assert_array_equal(mcmc.last_state.adapt_state.step_size, warm.adapt_state.step_size)
    again = pickle.loads(pickle.dumps(mcmc))
    np.testing.assert_array_equal(again.get_samples()["tau"], mcmc.get_samples()["tau"])
    again.run(first.rng_key)  # from the same state, by a kernel that has to make its metric anew
    np.testing.assert_array_equal(again.get_samples()["tau"], mcmc.get_samples()["tau"])
    mcmc.print_summary()
    assert "theta[7]" in capsys.readouterr().out


def test_chains_start_where_they_are_told_to():
    mcmc = MCMC(PatchNUTS(schools, step_size=1e-9, trajectory=mp.Static(1)), num_warmup=0, num_samples=1)
    mcmc.run(jax.random.key(0), init_params={"mu": jnp.array(1.0), "tau": jnp.array(0.5), "theta": jnp.arange(8.0)})
    draws = mcmc.get_samples()
    np.testing.assert_allclose(draws["theta"], [jnp.arange(8.0)], atol=1e-6)
    np.testing.assert_allclose(draws["tau"], jnp.exp(0.5), atol=1e-6)


def no_residuals():
    x = numpyro.sample("x", dist.ImproperUniform(dist.constraints.real, (), (2,)))
    numpyro.factor("density", -0.5 * (x**2).sum())


@pytest.mark.slow
def test_a_model_without_residuals_is_sampled_in_its_base():
    kernel = PatchNUTS(no_residuals, trajectory=mp.Static(4, jitter=0.5))
    mcmc = MCMC(kernel, num_warmup=100, num_samples=500, num_chains=2, chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.key(0))
    np.testing.assert_allclose(mcmc.get_samples()["x"].std(0), 1.0, atol=0.2)


def test_alpha_is_checked():
    with pytest.raises(mp.SettingError, match="alpha must be at least 0"):
        PatchNUTS(schools, alpha=-1.0)


PARALLEL = """
import jax
from numpyro.infer import MCMC
from test_numpyro_kernel import PatchNUTS, mp, schools

assert jax.local_device_count() == 2
kernel = PatchNUTS(schools, trajectory=mp.Static(3))
mcmc = MCMC(kernel, num_warmup=20, num_samples=10, num_chains=2, progress_bar=False)
mcmc.run(jax.random.key(0), extra_fields=("num_steps",))
tau = mcmc.get_samples(group_by_chain=True)["tau"]
assert tau.shape == (2, 10) and len(set(tau.ravel().tolist())) > 10
assert (mcmc.get_extra_fields()["num_steps"] == 3).all()
"""


def in_two_devices(code):
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **flags}, check=True, timeout=300)


@pytest.mark.slow
def test_chains_run_in_parallel():
    in_two_devices(PARALLEL)
