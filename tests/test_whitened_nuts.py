"""The kernel for NumPyro's MCMC in whitened coordinates: it samples what it should, in the model's own coordinates."""

import pickle

import arviz_base
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import known_from
from numpyro.infer import MCMC
from test_numpyro_kernel import in_two_devices, log_tau_by_quadrature, schools

import mongepatch as mp
from mongepatch.numpyro import WhitenedNUTS

MAX_STANDARD_ERRORS = 4.0
SIZES = np.repeat([1, 400], [14, 6])
"""Observations of uneven groups: some want to be centred, others do not."""


def uneven_data():
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(len(SIZES)), SIZES)
    return group, rng.normal(rng.normal(0.5, 0.1, size=len(SIZES))[group], 1.0)


GROUP, OBSERVED = uneven_data()


def uneven():
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    with numpyro.plate("group", len(SIZES)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    with numpyro.plate("observation", len(OBSERVED)):
        numpyro.sample("y", dist.Normal(theta[GROUP], 1), obs=OBSERVED)


def uneven_by_quadrature():
    means = np.bincount(GROUP, weights=OBSERVED) / SIZES
    return log_tau_by_quadrature(means, SIZES**-0.5, 1.0, lambda tau: -0.5 * tau**2)


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
@pytest.mark.parametrize(
    ("model", "by_quadrature", "chain_method", "chains"),
    [
        (schools, log_tau_by_quadrature, "vectorized", 4),
        (schools, log_tau_by_quadrature, "sequential", 2),
        (uneven, uneven_by_quadrature, "vectorized", 4),
    ],
    ids=["schools", "schools one after the other", "uneven groups"],
)
def test_a_centred_hierarchy_is_sampled_down_to_its_neck(model, by_quadrature, chain_method, chains):
    mcmc = MCMC(
        WhitenedNUTS(model),
        num_warmup=400,
        num_samples=1000,
        num_chains=chains,
        chain_method=chain_method,
        progress_bar=False,
    )
    mcmc.run(jax.random.key(2), extra_fields=("accept_prob",))
    seen = known_from({"log tau": np.log(mcmc.get_samples(group_by_chain=True)["tau"])})["log tau"]
    mean, sd = by_quadrature()
    assert max(seen.mean_error, seen.sd_error) < 0.06  # so small that the next lines say something
    assert abs(seen.mean - mean) < MAX_STANDARD_ERRORS * seen.mean_error
    assert abs(seen.sd - sd) < MAX_STANDARD_ERRORS * seen.sd_error
    fields = mcmc.get_extra_fields()
    assert fields["diverging"].mean() < 0.002
    assert 0.7 < fields["accept_prob"].mean() < 0.97


def short_run(model=schools, **settings):
    kernel = WhitenedNUTS(model, trajectory=mp.Static(3))
    defaults = {"num_warmup": 20, "num_samples": 5, "num_chains": 2, "chain_method": "vectorized"}
    return MCMC(kernel, progress_bar=False, **(defaults | settings))


@pytest.mark.slow
def test_z_is_in_the_coordinates_of_the_model():
    mcmc = short_run()
    mcmc.run(jax.random.key(0), extra_fields=("z.theta", "z.tau", "position", "potential_energy"))
    draws, fields = mcmc.get_samples(), mcmc.get_extra_fields()
    np.testing.assert_allclose(fields["z.theta"], draws["theta"])
    np.testing.assert_allclose(np.exp(fields["z.tau"]), draws["tau"])
    kernel, z = mcmc.sampler, mcmc.last_state.z
    for chain in range(2):
        own = {name: value[chain] for name, value in z.items()}
        model_position = jnp.concatenate([own["mu"][None], own["tau"][None], own["theta"]])
        position = mcmc.last_state.position[chain]
        np.testing.assert_allclose(kernel._to_model(position), model_position)
        np.testing.assert_allclose(kernel._from_model(model_position), position, atol=1e-6)
        energy = numpyro.infer.util.potential_energy(schools, (), {}, own)
        np.testing.assert_allclose(mcmc.last_state.potential_energy[chain], energy)
    assert np.abs(fields["position"][:, 2:] - draws["theta"]).max() > 0.1  # which are others


def test_a_chain_tells_how_it_is():
    mcmc = short_run(num_chains=1)
    mcmc.run(jax.random.key(0))
    text = mcmc.sampler.get_diagnostics_str(mcmc.last_state)
    assert "3 steps of size" in text
    assert "acc. prob=" in text


@pytest.mark.slow
def test_chains_start_where_they_are_told_to():
    mcmc = MCMC(WhitenedNUTS(schools, step_size=1e-9, trajectory=mp.Static(1)), num_warmup=0, num_samples=1)
    mcmc.run(jax.random.key(0), init_params={"mu": jnp.array(1.0), "tau": jnp.array(0.5), "theta": jnp.arange(8.0)})
    draws = mcmc.get_samples()
    np.testing.assert_allclose(draws["theta"], [jnp.arange(8.0)], atol=1e-6)
    np.testing.assert_allclose(draws["tau"], jnp.exp(0.5), atol=1e-6)


@pytest.mark.slow
def test_arviz_reads_a_run():
    mcmc = short_run()
    mcmc.run(jax.random.key(0), extra_fields=("accept_prob", "num_steps", "potential_energy", "energy"))
    tree = arviz_base.from_numpyro(mcmc)
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "school")
    assert np.isfinite(tree["sample_stats"]["energy"]).all()


@pytest.mark.slow
def test_a_run_goes_on_where_it_ended():
    mcmc = short_run()
    mcmc.warmup(jax.random.key(0))
    mcmc.run(jax.random.key(1))
    again = pickle.loads(pickle.dumps(mcmc))
    for one in (mcmc, again):  # the second has to find its coordinates anew
        one.post_warmup_state = one.last_state
        one.run(jax.random.key(2))
    np.testing.assert_array_equal(again.get_samples()["tau"], mcmc.get_samples()["tau"])


def known_scales():
    x = numpyro.sample("x", dist.Normal(0.0, 2.0).expand([3]))
    numpyro.sample("y", dist.Bernoulli(logits=x), obs=jnp.array([0, 1, 1]))


def test_a_model_without_inner_coordinates_is_refused():
    with pytest.raises(mp.ModelError, match=r"Nothing can be whitened.*Use PatchNUTS, or NumPyro's own NUTS"):
        short_run(known_scales).run(jax.random.key(0))


def test_there_is_no_target_before_a_run():
    with pytest.raises(mp.ModelError, match="WhitenedNUTS has no target"):
        _ = WhitenedNUTS(schools).target


PARALLEL = """
import jax
from test_whitened_nuts import short_run

assert jax.local_device_count() == 2
mcmc = short_run(chain_method="parallel")
mcmc.run(jax.random.key(0))
tau = mcmc.get_samples(group_by_chain=True)["tau"]
assert tau.shape == (2, 5) and len(set(tau.ravel().tolist())) > 5
"""


@pytest.mark.slow
def test_chains_run_in_parallel():
    in_two_devices(PARALLEL)
