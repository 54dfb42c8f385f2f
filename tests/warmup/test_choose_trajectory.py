"""Static trajectories: of which length, and that they are taken only where they give as much as NUTS."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers import sample_quietly

from mongepatch.chains import Tuning
from mongepatch.metrics import Euclidean
from mongepatch.trajectories import NUTS
from mongepatch.warmup.choose_trajectory import _guess, _is_better
from mongepatch.warmup.efficiency import Trial

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
    given, found = (quiet(normal, jnp.zeros(DIMENSION), draws=20, **to) for to in ({"target_acceptance": 0.6}, {}))
    assert given["posterior"].attrs["step_size"] > 1.25 * found["posterior"].attrs["step_size"]


def rated(per_draw, least, per_gradient):
    return Trial(Tuning(Euclidean(), NUTS()), 1.0, per_gradient, per_draw, least)


@pytest.mark.parametrize(
    ("static", "better"),
    [
        ((0.7, 0.5, 0.2), True),
        ((0.59, 0.5, 0.2), False),  # fewer than NUTS
        ((0.7, 0.3, 0.2), False),  # far fewer of one parameter
        ((0.7, 0.5, 0.1), False),  # dearer
    ],
)
def test_they_must_give_as_much_for_less(static, better):
    assert _is_better(rated(*static), rated(0.6, 0.45, 0.1)) is better


def test_few_effective_draws_are_not_taken_though_nuts_gave_fewer():
    assert not _is_better(rated(0.4, 0.3, 0.2), rated(0.1, 0.05, 0.01))


def test_the_first_guess_is_a_quarter_of_a_circle_or_a_part_of_the_tree():
    assert 0.75 * 0.75 * 0.7 * _guess(7.0, 0.7) == pytest.approx(np.pi / 2, rel=0.05)
    assert _guess(100.0, 1.0) == 60.0
