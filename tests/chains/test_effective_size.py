"""Effective sizes of many chains, by the spread of their own means."""

import numpy as np
import pytest

from mongepatch.chains.effective_size import effective_sizes_by_chains

CHAINS, DRAWS = 2000, 50


def autoregressive(correlation):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(CHAINS, DRAWS, 1))
    for i in range(1, DRAWS):
        values[:, i] = correlation * values[:, i - 1] + np.sqrt(1 - correlation**2) * values[:, i]
    return values


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.8])
def test_they_are_those_of_the_variance_of_a_mean(correlation):
    lags = np.arange(1, DRAWS)
    for size, rho in zip(
        effective_sizes_by_chains(autoregressive(correlation)), (correlation, correlation**2), strict=True
    ):
        wanted = CHAINS * DRAWS / (1 + 2 * ((1 - lags / DRAWS) * rho**lags).sum())
        assert size == pytest.approx(wanted, rel=4 * np.sqrt(2 / CHAINS))


def test_what_does_not_move_or_is_not_finite_has_none():
    values = autoregressive(0.0)
    for broken in (np.ones_like(values), np.where(values > 4.0, np.nan, values), values[..., :0]):
        np.testing.assert_array_equal(effective_sizes_by_chains(broken), 0.0)
