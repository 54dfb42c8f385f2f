"""The paper's funnel at D = 1 with the paper's own settings: α = 1, ε = 0.2, L = 9, four chains of 60,000 from 5·1."""

import numpy as np
import pytest

from mongepatch.bench.funnel import MERGED, PAPER, TRUTH, ks_distance, run_method
from mongepatch.bench.methods import HMC

pytestmark = pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles


@pytest.mark.parametrize("method", [MERGED, PAPER], ids=lambda method: method.scheme)
def test_lmc_finds_the_marginal(method):
    a = run_method(method).draws("a")
    assert a.shape == (4, 60_000)
    assert ks_distance(a) <= 0.02
    assert a.min() < -12


def test_hmc_at_the_same_settings_misses_the_neck():
    a = run_method(HMC).draws("a")
    assert ks_distance(a) > 0.05
    assert a.min() > -7
    assert TRUTH.cdf(-7.0) * a.size > 8000  # of which it found none


def test_ks_distance_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(0).normal(0.3, 3.0, size=(3, 200))
    assert ks_distance(values) == pytest.approx(stats.kstest(values.ravel(), TRUTH.cdf).statistic)
