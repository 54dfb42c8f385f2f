"""A warm-up whose length is left open ends early where a first trial finds nothing to improve."""

import functools
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import sample_quietly

from mongepatch.warmup import schedule
from mongepatch.warmup.warmup import DEFAULT_DRAWS, EASY_DRAWS

SCALES = np.array([0.01, 1.0, 1.0, 30.0])
quiet = functools.partial(sample_quietly, progress=False)


def normal(x):
    return -0.5 * jnp.sum((x / SCALES) ** 2)


def warmup_of(tree):
    return tree["posterior"].attrs["tuning_steps"]


def test_warm_up_of_an_easy_density_is_short_and_its_draws_are_right():
    heard = []
    tree = quiet(normal, jnp.zeros(4), save_warmup=True, callback=heard.append)
    assert warmup_of(tree) == EASY_DRAWS < DEFAULT_DRAWS
    assert tree["warmup_posterior"].sizes["draw"] == EASY_DRAWS
    assert (heard[-1].draws, heard[-1].total) == (EASY_DRAWS + 1000, EASY_DRAWS + 1000)
    x = np.asarray(tree["posterior"]["x"]) / SCALES
    assert np.all(np.abs(x.mean(axis=(0, 1))) < 4 / np.sqrt(1000))
    assert np.all(np.abs((x**2).mean(axis=(0, 1)) - 1) < 4 * np.sqrt(2 / 1000))


def test_a_number_of_draws_that_is_given_is_kept():
    assert warmup_of(quiet(normal, jnp.zeros(4), warmup=DEFAULT_DRAWS, draws=50)) == DEFAULT_DRAWS


@pytest.mark.parametrize("kind", ["heavy tails", "many parameters"])
def test_warm_up_is_long_where_more_draws_help(kind):
    def heavy(x):
        return -jnp.sum(jnp.log1p(x**2))  # Cauchy: energies mix slowly

    many = EASY_DRAWS // 10 + 1  # at 40 draws for each parameter, with four chains
    target, init = (heavy, jnp.ones(5)) if kind == "heavy tails" else (lambda x: -0.5 * x @ x, jnp.zeros(many))
    assert warmup_of(quiet(target, init, draws=50)) == DEFAULT_DRAWS


def test_the_time_of_warm_up_counts_what_is_computed_between_draws(monkeypatch):
    estimate = schedule.with_estimated_mass

    def slowly(*arguments):
        time.sleep(0.3)
        return estimate(*arguments)

    monkeypatch.setattr(schedule, "with_estimated_mass", slowly)
    tree = quiet(normal, jnp.zeros(4), draws=10, warmup=40)
    assert tree["posterior"].attrs["warmup_time"] > 0.3


def test_the_time_of_warm_up_does_not_count_compilation():
    def slow_to_trace(x):
        if isinstance(x, jax.core.Tracer):
            time.sleep(0.2)
        return -0.5 * x @ x

    started = time.perf_counter()
    tree = quiet(slow_to_trace, jnp.zeros(3), draws=10, warmup=40)
    attrs = tree["posterior"].attrs
    assert attrs["warmup_time"] + attrs["sampling_time"] < 0.5 * (time.perf_counter() - started)
