"""Chains that do not wait for each other make the same draws as chains in lockstep, in fewer steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import sample_quietly

import mongepatch as mp
from mongepatch.chains import Tuning, joined, own_pace, points_at, runner
from mongepatch.chains.draws import Chunk
from mongepatch.chains.lockstep import run_in_lockstep
from mongepatch.chains.own_pace import MAX_WAITING, run_at_own_pace
from mongepatch.kernels import LMC, Info
from mongepatch.program import trace_density
from mongepatch.warmup.step_size import DualAveraging, FixedStepSize

SCALES = jnp.array([0.2, 1.0, 2.0])
CHAINS, DRAWS = 8, 6
KEY = jax.random.key(3)


def normal(x):
    return -0.5 * ((x / SCALES) ** 2).sum()


DENSITY = trace_density(normal, jax.ShapeDtypeStruct((3,), jnp.float64))


def starts(metric, chains=CHAINS):
    return points_at(SCALES * jax.random.normal(jax.random.key(0), (chains, 3)), DENSITY, metric)


def both(metric, trajectory, policy, together, chains=CHAINS, draws=DRAWS):
    """The draws of either form, and the steps of chains at their own pace."""
    tuning, points = Tuning(metric, trajectory), starts(metric, chains)
    settings = {"kernel": LMC(), "capacity": draws + 4}
    first = 5  # of the draws' numbers
    lockstep = run_in_lockstep(KEY, points, policy, first, draws, DENSITY, tuning, **settings)
    *own, steps = run_at_own_pace(KEY, points, policy, first, draws, together, DENSITY, tuning, **settings)
    return lockstep, tuple(own), int(steps)


def assert_same(one, other):
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


def test_draws_are_those_of_chains_in_lockstep():
    """In a metric and with a rule that use all parts of a tree."""
    policy = FixedStepSize(jnp.asarray(0.25))
    lockstep, own, _ = both(mp.Monge(0.5, jnp.ones(3)), mp.NUTS(6, u_turn="extended"), policy, DRAWS)
    assert len(np.unique(lockstep[2].info.n_steps[:DRAWS])) > 2  # trees differ
    assert_same(lockstep, own)


def test_an_adapting_policy_sees_every_draw_of_all():
    policy = DualAveraging.around(0.25, 0.8, CHAINS, jnp.float64)
    lockstep, own, _ = both(mp.Euclidean(jnp.ones(3)), mp.NUTS(6), policy, 1)
    assert len(np.unique(lockstep[2].info.step_size[:DRAWS])) == DRAWS
    assert_same(lockstep, own)


def steps_of_many():
    """Steps that all chains make at once; the most of one chain, and the sum of the longest of each draw."""
    chains, draws = 64, 40
    policy = FixedStepSize(jnp.asarray(0.25))
    lockstep, own, steps = both(mp.Euclidean(jnp.ones(3)), mp.NUTS(6), policy, draws, chains, draws)
    assert_same(lockstep, own)
    n_steps = np.asarray(lockstep[2].info.n_steps)[:draws]
    return steps, n_steps.sum(axis=0).max(), n_steps.max(axis=1).sum()


def test_chains_wait_at_the_end_and_not_at_every_draw():
    steps, most_of_one, longest_of_each = steps_of_many()
    assert most_of_one <= steps < (1 + MAX_WAITING) * most_of_one  # of the chains, at most so many wait at a time
    assert steps < 0.7 * longest_of_each


@pytest.mark.slow
def test_where_no_chain_may_wait_there_are_as_many_steps_as_the_most_of_one(monkeypatch):
    monkeypatch.setattr(own_pace, "MAX_WAITING", 0.0)
    monkeypatch.setattr(own_pace, "MAX_TURNING", 0.0)
    jax.clear_caches()
    steps, most_of_one, _ = steps_of_many()
    jax.clear_caches()
    assert steps == most_of_one


@pytest.mark.slow
def test_sample_makes_the_same_draws_either_way(monkeypatch):
    """However it is cut into chunks: without time for more, every chunk has one draw."""
    settings = {"chains": 128, "warmup": 50, "draws": 10, "trajectory": "nuts", "progress": False}
    own = sample_quietly(normal, jnp.zeros(3), **settings)
    monkeypatch.setattr("mongepatch.chains.chunks.OWN_PACE_CHAINS", 129)
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.0)
    lockstep = sample_quietly(normal, jnp.zeros(3), **settings)
    np.testing.assert_allclose(own["posterior"]["x"], lockstep["posterior"]["x"], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(own["sample_stats"]["n_steps"], lockstep["sample_stats"]["n_steps"])


def test_rows_that_an_accelerator_has_turned_are_the_same(monkeypatch):
    """Chains before draws, some entries alone, internals of some chains, and more rows than there are draws."""
    array, columns = jnp.arange(72.0).reshape(6, 3, 4), np.array([0, 2])
    own, shared = array[..., 0], jnp.broadcast_to(jnp.arange(6.0)[:, None], (6, 3))
    info = Info(*[own] * (len(Info._fields) - 1), {"depth": own})._replace(step_size=shared, alpha=shared)
    chunk = Chunk(array, -array, 2 * array, info)
    for internals, first, taken in ((1, 0, None), (2, 1, None), (0, 0, columns)):
        expected = runner._selected(chunk, 5, 6, internals, taken, first)()
        with monkeypatch.context() as changed:
            changed.setattr(runner, "is_on_accelerator", lambda _: True)
            found = runner._selected(chunk, 5, 6, internals, taken, first)()
        jax.tree.map(np.testing.assert_array_equal, found, expected)
        for parts in (1, 2):
            one, other = joined([found] * parts), joined([expected] * parts)
            jax.tree.map(np.testing.assert_array_equal, one, other)
            assert all(leaf.flags.writeable and leaf.flags.c_contiguous for leaf in jax.tree.leaves((one, other)))
        if internals:
            np.testing.assert_array_equal(found.internal, -array[:5, first::internals])
