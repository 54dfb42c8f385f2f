"""Static trajectories: of which length, and that they are taken only where they give as much as NUTS."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers import sample_quietly

import mongepatch as mp
from mongepatch.chains import Tuning
from mongepatch.chains.chunks import compiled_programs
from mongepatch.metrics import Euclidean
from mongepatch.trajectories import NUTS
from mongepatch.warmup.choose_trajectory import _is_better, is_round
from mongepatch.warmup.efficiency import Efficiency, Trial

quiet = functools.partial(sample_quietly, progress=False)
DIMENSION = 10


def normal(x):
    return -0.5 * x @ x


def least_size(tree):
    """The smallest effective size of means and squares."""
    x = np.asarray(tree["posterior"]["x"])
    sizes = [
        array_stats.ess(values[..., i], chain_axis=0, draw_axis=1, method="mean")
        for values in (x, x**2)
        for i in range(DIMENSION)
    ]
    return float(np.min(sizes))


@pytest.mark.usefixtures("optimized")
def test_they_give_at_least_what_nuts_gives():
    static, nuts = (quiet(normal, jnp.zeros(DIMENSION), trajectory=name) for name in ("auto", "nuts"))
    assert static["posterior"].attrs["trajectory"] == "Static"
    assert least_size(static) > least_size(nuts)
    assert int(static["sample_stats"]["n_grad"].sum()) < int(nuts["sample_stats"]["n_grad"].sum())
    assert float(static["sample_stats"]["acceptance_rate"].mean()) > 0.85  # a rejected one repeats a draw


def test_an_acceptance_rate_that_is_given_is_kept():
    low, high = (quiet(normal, jnp.zeros(DIMENSION), draws=20, target_acceptance=rate) for rate in (0.6, 0.9))
    assert low["posterior"].attrs["step_size"] > 1.25 * high["posterior"].attrs["step_size"]


def rated(per_draw, least, per_gradient):
    return Trial(Tuning(Euclidean(), NUTS()), 1.0, Efficiency(per_gradient, per_draw, least))


@pytest.mark.parametrize(
    ("static", "better"),
    [
        ((0.7, 0.5, 0.2), True),
        ((0.5, 0.46, 0.2), True),  # fewer of some means, and more of the rarest
        ((0.44, 0.5, 0.2), False),  # far fewer than NUTS
        ((0.7, 0.35, 0.2), False),  # far fewer of one parameter
        ((0.7, 0.5, 0.1), False),  # dearer
    ],
)
def test_they_must_give_as_much_for_less(static, better):
    assert _is_better(rated(*static), rated(0.6, 0.45, 0.1)) is better


def test_few_effective_draws_are_not_taken_though_nuts_gave_fewer():
    assert not _is_better(rated(0.4, 0.3, 0.2), rated(0.1, 0.05, 0.01))


def test_a_density_is_round_where_trees_end_within_about_a_circle():
    assert is_round(7.0, 0.7)
    assert not is_round(100.0, 0.1)
    assert not is_round(7.0, 0.001)  # M is of another scale


def test_static_trajectories_are_taken_where_coordinates_are_whitened():
    """By the program that made the trees: nothing else is compiled for them."""
    before = compiled_programs()
    tree = quiet(mp.targets.neal_funnel(30))
    attrs, stats = tree["posterior"].attrs, tree["sample_stats"]
    assert compiled_programs() == before + 1
    assert "whitened" in attrs["chosen"]
    assert attrs["trajectory"] == tree["tuning"].attrs["trajectory"] == "Static"
    assert f"static, up to {tree['tuning'].attrs['num_steps']} steps" in attrs["chosen"]
    assert (stats["n_steps"] == tree["tuning"].attrs["num_steps"]).all()
    assert "tree_depth" not in stats
    assert "reached_max_treedepth" not in stats
