"""The paper's funnel at D = 1 with the paper's own settings: α = 1, ε = 0.2, L = 9, four chains of 60,000 from 5·1."""

import numpy as np
import pytest
from helpers import slow_but

from mongepatch.paper.distances import kl_divergence, ks_distance
from mongepatch.paper.funnel_runs import MERGED, PAPER, TRUTH, run_method
from mongepatch.paper.methods import HMC

pytestmark = pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles


@pytest.mark.parametrize("method", slow_but([MERGED, PAPER], MERGED), ids=lambda method: method.scheme)
@pytest.mark.slow
def test_lmc_finds_the_marginal(method):
    a = run_method(method).draws("a")
    assert a.shape == (4, 60_000)
    assert ks_distance(a, TRUTH) <= 0.02
    assert a.min() < -12


@pytest.mark.slow
def test_hmc_at_the_same_settings_misses_the_neck():
    a = run_method(HMC).draws("a")
    assert ks_distance(a, TRUTH) > 0.05
    assert a.min() > -7
    assert TRUTH.cdf(-7.0) * a.size > 8000  # of which it found none


def test_ks_distance_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(0).normal(0.3, 3.0, size=(3, 200))
    assert ks_distance(values, TRUTH) == pytest.approx(stats.kstest(values.ravel(), TRUTH.cdf).statistic)


def test_kl_divergence_is_small_for_the_truth_and_that_of_two_normals_otherwise():
    values = TRUTH.quantile((np.arange(400_000) + 0.5) / 400_000)
    assert kl_divergence(values, TRUTH) < 1e-6
    # log(s/σ) + (σ² + μ²)/(2s²) − ½ for draws of N(μ, s²), but for bins and tails
    shifted = 0.5 + 1.2 * values
    exact = np.log(1.2) + (1 + (0.5 / TRUTH.sd) ** 2) / (2 * 1.44) - 0.5
    assert kl_divergence(shifted, TRUTH) == pytest.approx(exact, abs=0.003)


def test_kl_divergence_punishes_a_neck_that_was_never_entered():
    values = TRUTH.quantile((np.arange(60_000) + 0.5) / 60_000)
    assert kl_divergence(values[values > -4], TRUTH) > 0.5
