"""Diagnostics of thousands of chains: what is computed from some of them, and what from all."""

import arviz_stats.base
import numpy as np
import pytest

from mongepatch.chains.effective_size import MAX_CHAINS, effective_sizes, evenly_spaced_chains, smallest_ess
from mongepatch.sampling.diagnostics import diagnose, smallest_ess_of_run, unchecked
from mongepatch.sampling.nested_r_hat import NUM_SUPERCHAINS, nested_r_hat
from mongepatch.sampling.output import tree_of
from mongepatch.targets import Target

SHAPE = (1000, 120)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def tree(draws, energy=None):
    """A run with these draws [chain, draw] of one parameter, in which nothing else is wrong."""
    stats = {
        "lp": -0.5 * draws**2,
        "energy": normal(*draws.shape, seed=1) if energy is None else energy,
        "accepted": np.ones(draws.shape, bool),
        "failure": np.zeros(draws.shape, int),
    }
    target = Target.from_density(lambda x: -0.5 * x**2, 0.0)
    return tree_of({"posterior": {"x": draws}, "sample_stats": stats}, target, {})


def nested_r_hat_of_groups(groups):
    """The definition, with a loop over superchains of draws [chain, draw]."""
    within = [
        group.mean(axis=1).var(ddof=1) + np.mean([chain.var(ddof=1) for chain in group]) for group in groups
    ]  # fmt: skip
    between = np.var([group.mean(axis=1).mean() for group in groups], ddof=1)
    return np.sqrt(1 + between / np.mean(within))


@pytest.mark.parametrize("chains", [65, 160, 1000])
def test_nested_r_hat_is_that_of_its_definition(chains):
    draws = normal(chains, 7, 3) + np.linspace(0, 2, chains)[:, None, None]
    ends = np.linspace(0, chains, NUM_SUPERCHAINS + 1).round().astype(int)
    for quantity in range(3):
        groups = np.split(draws[..., quantity], ends[1:-1])
        np.testing.assert_allclose(nested_r_hat(draws)[quantity], nested_r_hat_of_groups(groups), rtol=1e-12)


def test_nested_r_hat_of_short_chains():
    stationary, constant = normal(2048, 5), np.ones((2048, 5))
    assert nested_r_hat(stationary) < 1.01
    assert nested_r_hat(stationary.astype(np.float32)).dtype == np.float64
    assert nested_r_hat(stationary + np.linspace(-1, 1, 2048)[:, None]) > 1.1
    assert np.isnan(nested_r_hat(constant))


def test_some_chains_are_evenly_spaced():
    assert list(evenly_spaced_chains(5)) == [0, 1, 2, 3, 4]
    some = evenly_spaced_chains(4096)
    assert (len(some), some[0], some[-1]) == (MAX_CHAINS, 0, 4095)
    assert np.ptp(np.diff(some)) <= 1


def test_effective_sizes_of_some_chains_stand_for_those_of_all():
    draws = normal(*SHAPE, 2)
    assert smallest_ess(draws) == pytest.approx(draws[..., 0].size, rel=0.15)
    few = draws[: MAX_CHAINS + 1]
    assert len(effective_sizes(few, "bulk", squares=True)) == 4
    assert smallest_ess_of_run(tree(draws[..., 0])) == pytest.approx(draws[..., 0].size, rel=0.15)


def test_arviz_sees_as_many_chains_as_it_must(monkeypatch):
    seen = []
    array_stats = type(arviz_stats.base.array_stats)
    for name in ("ess", "rhat"):
        original = getattr(array_stats, name)

        def spy(self, ary, *arguments, original=original, **named):
            seen.append(np.size(ary))
            return original(self, ary, *arguments, **named)

        monkeypatch.setattr(array_stats, name, spy)
    assert diagnose(tree(normal(*SHAPE))) == ""
    smallest_ess(normal(*SHAPE, 1))
    assert seen
    assert max(seen) <= 2 * MAX_CHAINS * SHAPE[1]


def test_groups_of_chains_that_disagree_are_told_however_short_they_are():
    drifting = normal(1000, 20) + np.linspace(-1, 1, 1000)[:, None]
    assert "nested R̂ of 'x' over all chains is 1.1" in diagnose(tree(drifting))
    assert diagnose(tree(normal(1000, 20))) == ""


def test_stuck_chains_are_told():
    """Every group of chains has as many in each mode: only single chains tell."""
    stuck = normal(*SHAPE) + 10 * np.random.default_rng(2).choice([-1, 1], size=(SHAPE[0], 1))
    assert "R̂ of 'x' over 64 of the 1,000 chains is" in diagnose(tree(stuck))


def test_a_low_bfmi_of_many_chains_is_told():
    walk = normal(*SHAPE).cumsum(axis=1)
    assert "BFMI" in diagnose(tree(normal(*SHAPE), energy=walk))


def test_only_runs_that_are_checked_are_silent_on_it():
    assert "and there are 99" in unchecked(tree(normal(4, 99)))
    assert unchecked(tree(normal(4, 100))) == unchecked(tree(normal(65, 99))) == ""
