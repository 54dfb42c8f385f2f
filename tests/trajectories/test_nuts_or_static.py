"""NUTS and static trajectories by one program: each is what it is by itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch.integrators import Lagrangian, Phase
from mongepatch.trajectories import NUTSOrStatic, in_use, meaningless_statistics
from mongepatch.trajectories.base import Dynamics

NUTS, STATIC = mp.NUTS(5), mp.Static(6, jitter=0.5)
TREES = NUTSOrStatic.trees(NUTS)
METRICS = {"euclidean": mp.Euclidean(jnp.array([0.5, 1.0, 2.0])), "monge": mp.Monge(0.5)}
THRESHOLD = 1000.0


def density(x):
    return -0.5 * x @ x - (x**4).sum() / 8.0 - 0.5 * x[0] ** 2 * x[1] ** 2


def start(metric):
    point, _ = metric.at(density, jnp.array([0.3, -0.7, 0.5]))
    return Phase.start(point, jnp.array([1.0, 0.4, -0.6]))


@jax.jit
def ends(metric, step_size, steps):
    """The end of a trajectory, and the log of its acceptance ratio."""
    dynamics, first = Dynamics(density, metric, Lagrangian("paper"), step_size), start(metric)
    end = dynamics.run(first, steps)
    return end.point.position, dynamics.level(end).log_ratio(dynamics.level(first))


def proposed(trajectory, metric, step_size, threshold=THRESHOLD, seeds=64):
    """Transitions from one start with many keys."""

    def one(seed):
        key, length_key = jax.random.split(jax.random.key(seed))
        dynamics = Dynamics(density, metric, Lagrangian("paper"), jnp.asarray(step_size))
        return trajectory.propose(key, length_key, dynamics, start(metric), threshold)

    return jax.jit(jax.vmap(one))(jnp.arange(seeds))


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_trees_are_those_of_nuts(metric):
    both, alone = (proposed(trajectory, metric, 0.4) for trajectory in (TREES, NUTS))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), both, alone)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_draws_are_ends_of_static_trajectories_or_the_start(metric):
    """Half of them go back in time, as a velocity of the opposite sign would."""
    made = proposed(TREES.with_static(STATIC), metric, 1.0)
    seen = set()
    for i, steps in enumerate(made.n_steps):
        found = set()
        for step_size in (1.0, -1.0):
            end, log_ratio = ends(metric, step_size, steps)
            wanted = end if made.accepted[i] else start(metric).point.position
            if np.allclose(made.phase.point.position[i], wanted, rtol=1e-9) and np.isclose(
                made.log_ratio[i], log_ratio, rtol=1e-9
            ):
                np.testing.assert_allclose(made.acceptance_rate[i], min(1.0, np.exp(log_ratio)), rtol=1e-9)
                found.add((int(steps), step_size, bool(made.accepted[i])))
        assert found
        seen |= found
    assert {steps for steps, _, _ in seen} == {3, 4, 5, 6}
    assert {direction for _, direction, _ in seen} == {1.0, -1.0}
    assert {accepted for _, _, accepted in seen} == {True, False}


def test_a_trajectory_that_fails_on_its_way_moves_nothing():
    made = proposed(TREES.with_static(mp.Static(5)), METRICS["euclidean"], 30.0)
    assert np.asarray(made.failure).all()
    assert not np.asarray(made.accepted).any()
    np.testing.assert_array_equal(made.acceptance_rate, 0.0)
    assert (np.asarray(made.log_ratio) < -THRESHOLD).all()
    assert (np.asarray(made.n_steps) < 5).all()  # it is given up where its energies differ by too much


def test_a_change_of_kind_or_length_compiles_nothing():
    count = 0

    @jax.jit
    def shapes(trajectory):
        nonlocal count
        count += 1
        return trajectory.static.num_steps

    for trajectory in (TREES, TREES.with_static(STATIC), TREES.with_static(mp.Static(9))):
        shapes(trajectory)
    assert count == 1


def test_it_says_which_is_in_use():
    static = TREES.with_static(STATIC)
    assert in_use(TREES) is NUTS
    assert in_use(static) is STATIC
    assert in_use(STATIC) is STATIC
    assert in_use(None) is None
    assert meaningless_statistics(TREES) == meaningless_statistics(STATIC) == ()
    assert "tree_depth" in meaningless_statistics(static)
