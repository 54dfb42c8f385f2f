"""Warm-up of hundreds of chains: a hundred draws of each are enough for all together."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import Known, flattened, largest_deviation, sample_quietly

import mongepatch as mp
from mongepatch.warmup.tree_depth import with_depth_limit, with_full_depth

SCALES = jnp.array([0.01, 1.0, 30.0])


@pytest.fixture(scope="module")
def tree():
    return mp.sample(
        lambda x: -0.5 * ((x / SCALES) ** 2).sum(),
        jnp.ones(3),
        chains=256,
        draws=20,
        save_warmup=True,
        progress=False,
    )


def test_a_hundred_draws_are_the_default(tree):
    assert tree["posterior"].attrs["tuning_steps"] == 100
    assert tree["warmup_posterior"]["x"].shape == (256, 100, 3)


def test_they_find_the_step_size_and_the_scales(tree):
    truth = {f"x[{i}]": Known(0.0, float(scale)) for i, scale in enumerate(SCALES)}
    assert largest_deviation(flattened({"x": np.asarray(tree["posterior"]["x"])}), truth) < 4.0
    # Ten updates from 256 trees leave a few percent in ε; 5120 acceptances have a standard error of 0.003.
    assert abs(float(tree["sample_stats"]["acceptance_rate"].mean()) - 0.8) < 0.05
    assert float(tree["sample_stats"]["n_steps"].mean()) < 8  # as many as a standard normal density needs


def test_the_metric_is_chosen_and_the_trajectory_is_not(tree):
    assert tree["posterior"].attrs["chosen"] == "metric Euclidean: hardly any trajectory diverges"
    assert tree["posterior"].attrs["trajectory"] == "NUTS"


def test_trees_are_limited_by_those_before_and_never_below_what_is_needed():
    assert int(with_depth_limit(mp.NUTS(10)).depth_limit) == 6
    assert int(with_depth_limit(mp.NUTS(4)).depth_limit) == 4
    assert int(with_depth_limit(mp.NUTS(10), np.full((4, 5), 3)).depth_limit) == 5
    assert int(with_depth_limit(mp.NUTS(10), np.full((4, 5), 63)).depth_limit) == 8
    assert int(with_full_depth(mp.NUTS(9)).depth_limit) == 9
    assert with_depth_limit(mp.Static(5)) == mp.Static(5)


def test_a_limit_of_the_depth_is_kept():
    settings = {"step_size": 0.01, "warmup": 0, "draws": 2, "metric": mp.Euclidean(), "progress": False}
    tree = sample_quietly(
        lambda x: -0.5 * x @ x, jnp.ones(2), trajectory=mp.NUTS(10, depth_limit=2), chains=2, **settings
    )
    assert (tree["sample_stats"]["n_steps"] == 3).all()
