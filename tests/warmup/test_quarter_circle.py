"""Static trajectories of a quarter of a circle: how many steps, of which length, and that steps turn where they may."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import Known, flattened, largest_deviation, sample_quietly
from scipy.special import ndtr, ndtri

import mongepatch as mp
from mongepatch.chains import Tuning
from mongepatch.trajectories import NUTSOrStatic
from mongepatch.warmup.quarter_circle import enough_steps, quarter_circle
from mongepatch.warmup.step_size import ANGLE, DualAveraging, longest_step

quiet = functools.partial(sample_quietly, progress=False)
SCALES = jnp.array([0.01, 1.0, 30.0, 2.0])
MEAN = jnp.array([3.0, -1.0, 0.0, 100.0])


def normal(x):
    return -0.5 * (((x - MEAN) / SCALES) ** 2).sum()


def skewed(x):
    """Logarithms of Gamma variables of shape 20, with mean log 20 − 1/40 or so."""
    return (20.0 * x - jnp.exp(x)).sum()


@pytest.fixture(scope="module")
def of_normal():
    return quiet(normal, jnp.zeros(4), draws=200)


@pytest.fixture(scope="module")
def of_skewed():
    return quiet(skewed, jnp.zeros(8), draws=2000)


def test_in_a_normal_density_one_step_is_a_quarter_of_a_circle(of_normal):
    found, stats = of_normal["tuning"], of_normal["sample_stats"]
    assert found.attrs["trajectory"] == "Static"
    assert (stats["n_steps"] == 1).all()
    assert float(stats["acceptance_rate"].min()) > 0.99
    assert float(found["step_size"]) == pytest.approx(ANGLE)
    assert float(found["frequency"]) == 1.0
    np.testing.assert_allclose(found["center"], MEAN, atol=0.05 * float(SCALES.max()), rtol=1e-2)


def test_elsewhere_there_are_as_many_steps_as_are_accepted(of_skewed):
    """The mean of log Gamma(20) is ψ(20), its variance ψ′(20)."""
    found, stats = of_skewed["tuning"], of_skewed["sample_stats"]
    steps = int(found.attrs["num_steps"])
    assert steps > 1
    assert float(found["step_size"]) * steps == pytest.approx(ANGLE)
    assert float(stats["acceptance_rate"].mean()) > 0.92
    truth = Known(float(jax.scipy.special.digamma(20.0)), float(jax.scipy.special.polygamma(1, 20.0)) ** 0.5)
    draws = flattened({"x": np.asarray(of_skewed["posterior"]["x"])})
    assert largest_deviation(draws, dict.fromkeys(draws, truth)) < 4.0


def test_steps_of_trajectories_vary_around_it(of_normal):
    """Positions turn by an angle of ANGLE (1 ± 0.15), the same for all chains of a draw, which the lag tells."""
    x = np.asarray(of_normal["posterior"]["x"])[..., 1] - float(MEAN[1])
    correlation = (x[:, 1:] * x[:, :-1]).mean() / x.var()
    assert abs(correlation - np.cos(ANGLE)) < 0.15
    assert float(of_normal["tuning"].attrs["step_size_jitter"]) == 0.15


@pytest.mark.parametrize("given", [{"target_acceptance": 0.85}, {"step_size": 0.3}, {"metric": mp.Euclidean()}])
def test_steps_are_leapfrog_where_the_user_has_a_say_in_them(given):
    tuning = quiet(skewed, jnp.zeros(8), draws=20, **given)["tuning"]
    assert "center" not in tuning.data_vars


def test_a_run_with_it_is_a_run_with_these_settings(of_skewed):
    found = of_skewed["tuning"]
    again = quiet(skewed, of_skewed["posterior"]["x"].mean(("chain", "draw")).values, tuning=of_skewed, draws=50)
    for name in ("center", "frequency", "step_size"):
        np.testing.assert_array_equal(again["tuning"][name], found[name])
    assert again["tuning"].attrs["step_size_jitter"] == found.attrs["step_size_jitter"]
    assert (again["sample_stats"]["n_steps"] == found.attrs["num_steps"]).all()
    assert float(again["sample_stats"]["acceptance_rate"].mean()) > 0.9


def test_the_step_size_is_held_once_steps_turn(of_kept):
    """At the angle of a step, through all windows in which M and the center are still estimated."""
    step_size = np.asarray(of_kept["warmup_sample_stats"]["step_size"].isel(chain=0))
    steps = np.asarray(of_kept["warmup_sample_stats"]["n_steps"].isel(chain=0))
    last = np.flatnonzero(np.abs(step_size * steps - ANGLE) > 1e-9).max() + 1
    assert len(step_size) - last >= 300  # since the trial of static trajectories
    np.testing.assert_allclose(step_size[last:] * steps[last:], ANGLE)


@pytest.fixture(scope="module")
def of_kept():
    return quiet(skewed, jnp.zeros(8), draws=20, save_warmup=True)


def test_there_are_enough_steps_where_few_are_seldom_accepted():
    """Twenty coordinates with heavy tails, of which the steps of a trial are often rejected."""

    def density(x):
        return -3.0 * jnp.log1p(x**2 / 5.0).sum()

    tree = quiet(density, jnp.zeros(20), draws=500)
    stats, found = tree["sample_stats"], tree["tuning"]
    if found.attrs["trajectory"] == "Static":
        assert float(found["step_size"]) * int(found.attrs["num_steps"]) == pytest.approx(ANGLE)
        assert float(stats["acceptance_rate"].mean()) > 0.88
    truth = Known(0.0, (5.0 / 3.0) ** 0.5)  # Student's t with 5 degrees of freedom
    draws = flattened({"x": np.asarray(tree["posterior"]["x"])})
    assert largest_deviation(draws, dict.fromkeys(draws, truth)) < 4.5


@pytest.mark.parametrize("frequency", [0.0, 0.5])
def test_a_center_and_a_frequency_that_are_given_are_kept(frequency):
    metric = mp.Euclidean(SCALES**2, MEAN, frequency)
    tree = quiet(normal, MEAN, metric=metric, draws=50, warmup=300)
    found = tree["tuning"]
    if frequency:
        np.testing.assert_array_equal(found["center"], MEAN)
        assert float(found["frequency"]) == frequency
        if found.attrs["trajectory"] == "Static":
            angle = frequency * float(found["step_size"]) * int(found.attrs["num_steps"])
            assert angle == pytest.approx(ANGLE)
    else:
        assert "center" not in found


def test_a_center_in_single_precision():
    jax.config.update("jax_enable_x64", False)
    try:
        tree = quiet(skewed, jnp.zeros(8), draws=200)
        assert tree["tuning"]["center"].dtype == np.float32
        assert float(tree["sample_stats"]["acceptance_rate"].mean()) > 0.9
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("step_size", [0.01, 0.1, 0.3, 0.5, 0.8, 1.0, 1.05, 1.4, 1.9, 3.0])
def test_leapfrog_steps_are_counted_by_the_angle_that_each_turns(step_size):
    static = quarter_circle(step_size)
    angle = 2 * np.arcsin(min(step_size, 2) / 2)
    assert ANGLE / angle / 1.1 <= int(static.num_steps) <= ANGLE / angle / 1.1 + 1.0  # hardly longer than adapted
    assert int(quarter_circle(step_size, 2.0).num_steps) == int(np.ceil(ANGLE / (2.0 * step_size) / 1.1))
    assert float(static.jitter) == 0.0
    assert float(static.step_size_jitter) == 0.15


def test_steps_are_enough_by_the_energy_error_that_they_leave():
    """The error of a normal density's rest grows as ε²: with twice the steps, a quarter of the root of its mean."""
    root = -2.0 * ndtri(0.5 * 0.94)
    for steps in (1, 2, 3, 5):
        accepted = 2.0 * ndtr(-0.5 * root * (4.999 / steps) ** 2)
        assert enough_steps(accepted, steps) == 5
    assert enough_steps(1.0, 4) == 1
    assert enough_steps(0.0, 4) <= 512


def test_a_step_that_turns_is_at_most_a_quarter_of_a_circle():
    turning, flat = mp.Euclidean(None, [0.0], 1.5), mp.Euclidean()
    assert longest_step(Tuning(flat, mp.Static(3))) == np.inf
    assert longest_step(Tuning(turning, mp.Static(3))) == pytest.approx(ANGLE / 4.5)
    both = NUTSOrStatic.trees(mp.NUTS()).with_static(mp.Static(2))
    assert longest_step(Tuning(turning, both)) == pytest.approx(ANGLE / 3.0)
    policy = DualAveraging.around(100.0, 0.8, 4, jnp.float64, longest=1.5)
    for _ in range(20):
        assert float(policy.step_size) <= 1.5 + 1e-12
        policy = policy.update(jnp.ones(4))
    assert float(policy.finished().step_size) <= 1.5 + 1e-12


def test_a_trajectory_has_steps_of_one_length_between_limits():
    static = mp.Static(4, step_size_jitter=0.25)
    stretched = np.asarray(jax.vmap(static.stretch)(jax.random.split(jax.random.key(0), 2000)))
    assert 0.75 <= stretched.min() < 0.76
    assert 1.24 < stretched.max() <= 1.25
    assert stretched.mean() == pytest.approx(1.0, abs=4 * 0.25 / np.sqrt(3 * 2000))
    assert mp.Static(4).stretch(jax.random.key(0)) == 1.0
    with pytest.raises(mp.SettingError, match="step_size_jitter must be at most 1"):
        mp.Static(4, step_size_jitter=1.5)
