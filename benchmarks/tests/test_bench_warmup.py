"""The benchmark of warm-up measures what it says."""

import helpers
import numpy as np
import pytest

from benchmarks.measures import reference
from benchmarks.warmup import funnels, regular
from benchmarks.warmup.problems import gaussian
from mongepatch.sampling.output import tree_of
from mongepatch.targets import funnel

RNG = np.random.default_rng(0)
BOTH = pytest.mark.parametrize("module", [reference, helpers], ids=["benchmarks", "tests"])
"""Tests of the library have a copy of their own, since they must not import the benchmarks."""


@BOTH
def test_deviations_are_in_standard_errors(module):
    draws = {"x": RNG.normal(2.0, 3.0, size=(4, 2500))}
    truth = module.known_from(draws)["x"]
    known = type(truth)
    assert truth.mean_error == pytest.approx(0.03, rel=0.2)
    assert module.largest_deviation(draws, {"x": known(2.0, 3.0)}) < 4.0
    assert module.largest_deviation(draws, {"x": known(2.3, 3.0)}) == pytest.approx(10.0, abs=4.0)
    assert module.largest_deviation(draws, {"x": known(2.0, 3.4)}) > 10.0


@BOTH
def test_the_error_of_a_standard_deviation_is_that_of_squares(module):
    flips = np.cumsum(RNG.random(size=(400, 4, 500)) < 0.9, axis=-1) % 2 * 2 - 1
    sizes = np.repeat(np.abs(RNG.normal(size=(400, 4, 50))), 10, axis=-1)  # signs alternate, sizes stay for long
    errors = [module.known_from({"x": values})["x"].sd_error for values in flips * sizes]
    assert np.mean(errors) == pytest.approx((flips * sizes).std(axis=(1, 2)).std(), rel=0.2)


def test_every_scalar_has_a_name():
    flat = helpers.flattened({"a": np.zeros((4, 10)), "b": np.zeros((4, 10, 2, 3))})
    assert list(flat)[:3] == ["a", "b[0, 0]", "b[0, 1]"]
    assert len(flat) == 7


def run_of(a, n_grad):
    shape = a.shape
    stats = {"n_grad": np.full(shape, n_grad), "alpha": np.full(shape, 0.7)}
    return tree_of({"posterior": {"x": np.zeros((*shape, 1)), "a": a}, "sample_stats": stats}, funnel(1), {})


def test_a_funnel_whose_neck_is_missed_is_charged_for_it():
    draws = RNG.normal(0.0, 15**0.5, size=(16, 2000))
    whole = funnels.summary([run_of(draws, 10)])
    assert 20 < whole.by_error < 300  # about 100, from 16 errors each
    assert whole.distance < 0.02
    assert whole.alphas == [0.7]
    missed = funnels.summary([run_of(np.where(draws < -5.0, 1.0, draws), 10)])
    assert missed.by_error < 0.2 * whole.by_error
    assert missed.distance > 0.05


@pytest.mark.slow
def test_a_line_of_the_table():
    problem = gaussian(5, 100.0)
    line = regular.measure(problem, 300, [0])
    assert line.ratio > 0.5
    assert line.deviation < 5.0
    assert "trajectory" in line.chosen
    r_hat, deviation = regular.far_start(problem, 300, [0])
    assert r_hat < 1.1
    assert deviation < 5.0
    points = np.asarray(regular.far_points(problem, 0))
    assert points.shape == (4, 5)
    assert (np.abs(points / problem.typical.std(axis=0)).max(axis=1) > 5).all()
