"""Windows of warm-up, trials, and the climb from one to the next."""

import itertools

import numpy as np
import pytest

from mongepatch.chains import Record, Tuning
from mongepatch.kernels import Info
from mongepatch.metrics import Euclidean
from mongepatch.warmup.efficiency import (
    OVERHEAD,
    Efficiency,
    Trial,
    TrialStatistics,
    efficiency_of,
    hill_climb,
    internal_efficiency_of,
    pooled_bfmi,
    smallest_bfmi,
)
from mongepatch.warmup.schedule import windows


@pytest.mark.parametrize("total", [0, 1, 5, 20, 39, 40, 100, 350, 500, 1000, 10_000])
@pytest.mark.parametrize("learns", [False, True])
def test_windows_hold_all_draws(total, learns):
    made = windows(total, learns=learns)
    assert sum(window.draws for window in made) == total
    assert all(window.draws > 0 for window in made)
    if made:
        assert not made[-1].learns  # the step size has the last word


def test_windows_grow():
    lengths = [window.draws for window in windows(1000, learns=True) if window.learns]
    assert len(lengths) >= 4
    assert all(later > earlier for earlier, later in itertools.pairwise(lengths))
    assert windows(1000, learns=True)[-1].draws >= 100


def test_many_chains_learn_from_the_first_draws_on():
    made = windows(30, learns=True, first=5, settling=10)
    assert [(window.draws, window.learns) for window in made] == [(5, True), (15, True), (10, False)]


def record(values, n_grad):
    chains, draws, _ = values.shape
    info = Info(**dict.fromkeys(Info._fields))._replace(n_grad=np.broadcast_to(n_grad, (chains, draws)))
    return Record(values, None, None, info)


def autoregressive(correlation, rng, shape=(4, 2000, 3)):
    noise = rng.normal(size=shape)
    values = noise.copy()
    for i in range(1, shape[1]):
        values[:, i] = correlation * values[:, i - 1] + np.sqrt(1 - correlation**2) * noise[:, i]
    return values


def test_efficiency_is_effective_draws_for_their_cost():
    rng = np.random.default_rng(0)
    assert efficiency_of(record(autoregressive(0.0, rng), 9)).ess_per_gradient == pytest.approx(
        1 / (9 + OVERHEAD), rel=0.15
    )
    expected = (1 - 0.8) / (1 + 0.8) / (9 + OVERHEAD)
    assert efficiency_of(record(autoregressive(0.8, rng), 9)).ess_per_gradient == pytest.approx(expected, rel=0.25)


def test_draws_that_jump_to_the_far_side_are_not_more_efficient_than_independent_ones():
    values = autoregressive(-0.9, np.random.default_rng(0))
    assert efficiency_of(record(values, 9)).ess_per_gradient < 0.5 / (9 + OVERHEAD)  # their squares hang together


def test_all_chains_wait_for_the_slowest():
    values = autoregressive(0.0, np.random.default_rng(0))
    slow = np.ones((4, 2000), int)
    slow[0] = 19
    assert efficiency_of(record(values, slow)).ess_per_gradient == pytest.approx(1 / (19 + OVERHEAD), rel=0.15)


def test_many_chains_wait_for_the_one_with_the_most_steps_in_all():
    values = autoregressive(0.0, np.random.default_rng(0), shape=(128, 200, 3))
    uneven = np.ones((128, 200), int)
    uneven[np.arange(128), np.arange(128)] = 201  # each chain waits for none of the others
    assert efficiency_of(record(values, uneven)).ess_per_gradient == pytest.approx(1 / (2 + OVERHEAD), rel=0.15)


def test_trajectories_are_compared_in_the_coordinates_that_chains_move_in():
    """Squares of the exponential of a normal variable hang on a few draws, those of the variable itself do not."""
    internal = autoregressive(0.0, np.random.default_rng(3), shape=(4, 1000, 10))
    moved = record(np.exp(3.0 * internal), 1)._replace(internal=internal)
    assert internal_efficiency_of(moved).ess_per_draw > 0.7
    assert TrialStatistics(moved, 1.0).internal_efficiency == internal_efficiency_of(moved)
    assert TrialStatistics(moved, 1.0).efficiency == efficiency_of(moved) != internal_efficiency_of(moved)
    some = moved._replace(internal=internal[::2])  # of many chains these are those of some
    whole = internal_efficiency_of(moved).ess_per_gradient
    assert internal_efficiency_of(some).ess_per_gradient == pytest.approx(whole, rel=0.3)
    still = moved._replace(internal=None)
    assert internal_efficiency_of(still) == efficiency_of(moved)


def test_energies_of_many_chains_are_judged_together():
    """Of hundreds of chains with a dozen draws, one always has energies that change little."""
    rng = np.random.default_rng(5)
    independent, slow = rng.normal(size=(1000, 12)), rng.normal(size=(1000, 1)) + 0.3 * rng.normal(size=(1000, 12))
    for energy, least, most in ((independent, 1.9, 2.1), (slow, 0.1, 0.25)):
        info = record(energy[..., None], 1).info._replace(energy=energy)
        assert least < TrialStatistics(Record(energy[..., None], None, None, info), 1.0).bfmi < most
        assert TrialStatistics(Record(energy[:4, :, None], None, None, info._replace(energy=energy[:4])), 1.0).bfmi > 0
    assert smallest_bfmi(independent) < 0.8 < pooled_bfmi(independent)
    assert pooled_bfmi(np.ones((300, 5))) == np.inf


def test_efficiencies_in_the_same_coordinates_are_computed_once(monkeypatch):
    values = autoregressive(0.0, np.random.default_rng(4), shape=(4, 50, 2))
    seen = TrialStatistics(record(values, 1)._replace(internal=values.copy()), 1.0)
    found = seen.efficiency
    monkeypatch.setattr("mongepatch.warmup.efficiency.effective_sizes", lambda *_, **__: pytest.fail("once more"))
    assert seen.internal_efficiency is found


def test_draws_that_do_not_move_have_no_efficiency():
    assert efficiency_of(record(np.ones((4, 100, 2)), 1)).ess_per_gradient == 0.0
    assert efficiency_of(record(np.full((4, 100, 2), np.nan), 1)).ess_per_gradient == 0.0


@pytest.mark.parametrize(("best", "start"), [(0, 3), (5, 3), (3, 3), (9, 2)])
def test_the_climb_goes_to_the_better_side(best, start):
    tried = []

    def attempt(value):
        tried.append(value)
        return Trial(Tuning(Euclidean(), None), float(value), Efficiency(-abs(value - best), 1.0, 1.0))

    found = hill_climb(range(10), start, attempt, 20)
    assert found.step_size == best
    assert len(tried) == len(set(tried))
    tried.clear()
    hill_climb(range(10), start, attempt, 3)
    assert len(tried) == 3
