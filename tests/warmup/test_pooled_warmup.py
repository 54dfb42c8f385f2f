"""Warm-up of hundreds of chains: a hundred draws of each are enough for all together."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import Known, flattened, largest_deviation, sample_quietly

import mongepatch as mp
from mongepatch.chains.chunks import compiled_programs
from mongepatch.program import trace
from mongepatch.warmup.tree_depth import MANY_CHAINS, limits_depth, with_depth_limit, with_full_depth

SCALES = jnp.array([0.01, 1.0, 30.0])


QUIET = {"chains": 256, "draws": 20, "progress": False}


def normal(x):
    return -0.5 * ((x / SCALES) ** 2).sum()


@pytest.fixture(scope="module")
def tree():
    return mp.sample(normal, jnp.ones(3), trajectory="nuts", save_warmup=True, **QUIET)


def test_a_hundred_draws_are_the_default(tree):
    assert tree["posterior"].attrs["tuning_steps"] == 100
    assert tree["warmup_posterior"]["x"].shape == (256, 100, 3)


def test_they_find_the_step_size_and_the_scales(tree):
    truth = {f"x[{i}]": Known(0.0, float(scale)) for i, scale in enumerate(SCALES)}
    assert largest_deviation(flattened({"x": np.asarray(tree["posterior"]["x"])}), truth) < 4.0
    # Ten updates from 256 trees leave a few percent in ε; 5120 acceptances have a standard error of 0.003.
    assert abs(float(tree["sample_stats"]["acceptance_rate"].mean()) - 0.8) < 0.05
    assert float(tree["sample_stats"]["n_steps"].mean()) < 8  # as many as a standard normal density needs


def test_the_metric_and_the_trajectory_are_chosen():
    """Static trajectories are made in lockstep, by a program of their own: none of the chains has another length."""
    before = compiled_programs()
    tree = mp.sample(normal, jnp.ones(3), **QUIET)
    chosen, attrs = tree["posterior"].attrs["chosen"], tree["posterior"].attrs
    assert chosen.startswith("metric Euclidean: ")
    assert "trajectory static" in chosen
    assert attrs["trajectory"] == "Static"
    assert compiled_programs() == before + 2
    assert (tree["sample_stats"]["n_steps"] == tree["tuning"].attrs["num_steps"]).all()
    assert int(tree["tuning"].attrs["num_steps"]) <= 2
    truth = {f"x[{i}]": Known(0.0, float(scale)) for i, scale in enumerate(SCALES)}
    assert largest_deviation(flattened({"x": np.asarray(tree["posterior"]["x"])}), truth) < 4.0


def test_a_short_warm_up_of_many_chains_does_not_look_for_lengths():
    """Of trajectories that are no quarter of a circle: some dozen draws could not tell."""
    tree = sample_quietly(lambda x: -0.5 * x @ x, jnp.ones(3), metric=mp.Euclidean(jnp.full(3, 1e4)), **QUIET)
    assert "trajectory static" not in tree["posterior"].attrs["chosen"]
    assert tree["posterior"].attrs["trajectory"] == "NUTS"


def test_trees_are_limited_by_those_before_and_never_below_what_is_needed():
    assert int(with_depth_limit(mp.NUTS(10)).depth_limit) == 6
    assert int(with_depth_limit(mp.NUTS(4)).depth_limit) == 4
    assert int(with_depth_limit(mp.NUTS(10), np.full((4, 5), 3)).depth_limit) == 5
    assert int(with_depth_limit(mp.NUTS(10), np.full((4, 5), 63)).depth_limit) == 8
    assert int(with_full_depth(mp.NUTS(9)).depth_limit) == 9
    assert with_depth_limit(mp.Static(5)) == mp.Static(5)


def test_trees_are_limited_for_many_chains_and_in_whitened_coordinates():
    density, _ = trace(lambda x: -0.5 * x @ x, jax.ShapeDtypeStruct((2,), float))
    whitened = mp.whiten(mp.targets.funnel(2)).logdensity
    assert not limits_depth(mp.NUTS(), density, 4)
    assert limits_depth(mp.NUTS(), density, MANY_CHAINS)
    assert limits_depth(mp.NUTS(), whitened, 4)
    assert not limits_depth(mp.NUTS(10, depth_limit=3), whitened, 4)
    assert not limits_depth(mp.Static(3), whitened, 4)


def test_a_limit_of_the_depth_is_kept():
    settings = {"step_size": 0.01, "warmup": 0, "draws": 2, "metric": mp.Euclidean(), "progress": False}
    tree = sample_quietly(
        lambda x: -0.5 * x @ x, jnp.ones(2), trajectory=mp.NUTS(10, depth_limit=2), chains=2, **settings
    )
    assert (tree["sample_stats"]["n_steps"] == 3).all()


EFFECTS, ERRORS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def schools():
    mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    numpyro.sample("y", dist.Normal(theta, ERRORS), obs=EFFECTS)


def quantiles_of_log_tau(probabilities):
    """By quadrature: given tau, the effects are normal around mu, and mu is normal."""
    log_tau = np.linspace(-14.0, 8.0, 20_001)
    variance = ERRORS**2 + np.exp(2 * log_tau)[:, None]
    precision = (1 / variance).sum(axis=1) + 1 / 25
    level = (EFFECTS / variance).sum(axis=1)
    log_density = log_tau - np.log1p(np.exp(2 * log_tau) / 25) - 0.5 * np.log(precision) + 0.5 * level**2 / precision
    log_density -= 0.5 * (np.log(variance) + EFFECTS**2 / variance).sum(axis=1)
    below = np.cumsum(np.exp(log_density - log_density.max()))
    return np.interp(probabilities, below / below[-1], log_tau)


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
def test_a_thousand_chains_of_the_schools_are_right_after_a_hundred_draws():
    probabilities = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    tree = mp.sample(mp.from_numpyro(schools), chains=1024, draws=100, progress=False)
    log_tau = np.log(np.asarray(tree["posterior"]["tau"]))
    below = (log_tau[..., None] <= quantiles_of_log_tau(probabilities)).mean(axis=1)  # of each chain
    error = below.std(axis=0, ddof=1) / np.sqrt(len(below))
    assert (np.abs(below.mean(axis=0) - probabilities) < 4 * error).all()
