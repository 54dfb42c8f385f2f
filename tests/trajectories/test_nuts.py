"""NUTS: against BlackJAX's in the flat metric, and by what must hold in any."""

import functools

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import one_step, slow_but, steps_from
from problems import DENSITIES

import mongepatch as mp
from mongepatch.integrators import Lagrangian, Phase
from mongepatch.trajectories import uturn
from mongepatch.trajectories.base import Dynamics
from mongepatch.trajectories.uturn import Leaf, Stack, turned

RULES = ("generalized", "trapezoid", "extended", "chord")
SCALES = jnp.array([0.3, 1.0, 1.0, 2.0, 0.5])


def normal(x):
    return -0.5 * ((x / SCALES) ** 2).sum()


def curved(x):
    return -0.5 * x[:2] @ x[:2] - (x[2:] ** 4).sum() / 8.0 - 0.5 * x[0] ** 2 * x[1] ** 2


def compiled(algorithm_at, draws):
    """Chains of an algorithm that is made from a step size: (keys, step size) to positions and infos."""

    def chain(key, step_size):
        start_key, key = jax.random.split(key)
        algorithm = algorithm_at(step_size)

        def one(state, key):
            state, info = algorithm.step(key, state)
            return state, (state.position, info)

        start = algorithm.init(SCALES * jax.random.normal(start_key, (5,)))
        return jax.lax.scan(one, start, jax.random.split(key, draws))[1]

    return jax.jit(jax.vmap(chain, (0, None)))


@functools.cache
def both(density):
    """Ours and theirs, each compiled once for every step size."""
    inverse_mass = jnp.array([0.5, 1.0, 2.0, 1.0, 1.0])
    trajectory = mp.NUTS(u_turn="trapezoid")
    return (
        compiled(lambda step_size: mp.lmc(density, mp.Euclidean(inverse_mass), step_size, trajectory), 400),
        compiled(lambda step_size: blackjax.nuts(density, step_size, inverse_mass), 400),
    )


def agree(ours, theirs, worst=4.5):
    """Whether means over chains (chain, draw, …) are the same within standard errors, for every column."""
    ours, theirs = (np.asarray(values, float).mean(axis=1) for values in (ours, theirs))
    error = np.hypot(*(values.std(axis=0, ddof=1) / np.sqrt(len(values)) for values in (ours, theirs)))
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= worst * error + 1e-12).all()


@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
@pytest.mark.parametrize(
    ("density", "step_size"), slow_but([(normal, 0.1), (normal, 0.5), (curved, 0.1), (curved, 0.5)], (curved, 0.5))
)
def test_in_the_flat_metric_it_is_the_nuts_of_blackjax(density, step_size):
    """Draws, squares, steps and the distribution of depths; the start differs, so early draws are left out."""
    keys = jax.random.split(jax.random.key(0), 128)
    (x, info), (y, other) = (
        jax.tree.map(lambda leaf: leaf[:, 50:], chains(keys, step_size)) for chains in both(density)
    )
    agree(x, y)
    agree(x**2, y**2)
    agree(info.n_steps, other.num_integration_steps)
    agree(info.acceptance_rate, other.acceptance_rate)
    agree(info.energy, other.energy)
    for depth in range(8):
        agree(info.extra["tree_depth"] == depth, other.num_trajectory_expansions == depth)
    assert len(set(np.asarray(info.extra["tree_depth"]).ravel())) > 1


@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
@pytest.mark.slow  # the invariance suite draws with the default rule, trapezoid
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_leaves_the_target_as_it_is(rule):
    chains = compiled(lambda step_size: mp.lmc(normal, mp.Monge(0.4), step_size, mp.NUTS(6, u_turn=rule)), 60)
    draws, _ = chains(jax.random.split(jax.random.key(0), 2000), 0.4)
    squares = np.asarray((draws / SCALES) ** 2).mean(axis=1)
    error = squares.std(axis=0, ddof=1) / np.sqrt(len(squares))
    assert (np.abs(squares.mean(axis=0) - 1.0) < 4 * error).all()


@pytest.mark.parametrize("metric", [mp.Euclidean(), mp.Monge(0.7)], ids=["euclidean", "monge"])
def test_all_leaves_lie_on_one_orbit(metric):
    """Stepping forward from the start and back from there gives the start again, weights included."""
    density = DENSITIES["quartic"][0]
    x, v = jnp.full(4, 0.3), jnp.array([0.5, -0.2, 0.1, 0.4])
    dynamics = Dynamics(density, metric, Lagrangian(), jnp.asarray(0.1))
    start = Phase.start(metric.at(density, x)[0], v)
    node = dynamics.depart(start, 1)
    for _ in range(3):
        node = dynamics.advance(node, 1)
    log_ratio = dynamics.level(node.phase).log_ratio(dynamics.level(start))
    back = dynamics.depart(Phase.start(node.phase.point, node.phase.velocity), -1)
    for _ in range(3):
        back = dynamics.advance(back, -1)
    np.testing.assert_allclose(back.phase.point.position, x, atol=1e-13)
    np.testing.assert_allclose(back.phase.velocity, v, atol=1e-13)
    np.testing.assert_allclose(back.phase.log_volume, -node.phase.log_volume, atol=1e-13)
    start_again = Phase.start(node.phase.point, node.phase.velocity)
    returned = dynamics.level(back.phase).log_ratio(dynamics.level(start_again))
    np.testing.assert_allclose(returned, -log_ratio, atol=1e-12)


@pytest.mark.parametrize("accelerator", [False, True], ids=["processor", "accelerator"])
@pytest.mark.parametrize("rule", RULES)
def test_the_stack_looks_at_every_balanced_sub_tree(rule, accelerator, monkeypatch):
    """Against a recursion over whole arrays of leaves, on paths that turn now and then."""
    monkeypatch.setattr(uturn, "_by_device", lambda here, there, *rooms: (there if accelerator else here)(*rooms))
    depth, rng = 4, np.random.default_rng(0)

    def leaves(n):
        angles = np.cumsum(rng.normal(0.0, rng.uniform(0.1, 1.5), n))
        v = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return Leaf(np.cumsum(v, axis=0), v, 1.5 * v)

    def at(path, i):
        return Leaf(*(array[i] for array in path))

    def turns(path, low, high):
        """Whether the balanced tree [low, high) or one within it has turned."""
        if high - low == 1:
            return False
        middle = (low + high) // 2
        if turns(path, low, middle) or turns(path, middle, high):
            return True
        first, last = at(path, low), at(path, high - 1)

        def rho(low, high):
            return jnp.asarray(path.momentum[low:high].sum(axis=0))

        found = turned(rule, first, last, rho(low, high), 1.0)
        if rule == "extended" and high - low > 2:
            found |= turned(rule, first, at(path, middle), rho(low, middle + 1), 1.0)
            found |= turned(rule, at(path, middle - 1), last, rho(middle - 1, high), 1.0)
        return bool(found)

    @jax.jit
    def first_turn(path):
        """The number of the first leaf that completes a sub-tree that has turned; 2^depth where there is none."""
        leaf = jax.tree.map(lambda array: array[0], path)

        def body(carry, inputs):
            stack, previous, rho, found = carry
            number, leaf = inputs
            stack = stack.put(number, leaf, previous, rho)
            rho = rho + leaf.momentum
            turning = stack.turned(rule, number, leaf, rho, 1.0)
            found = jnp.where(turning & (found == 2**depth), number, found)
            return (stack, leaf, rho, found), None

        empty = Stack.empty(rule, depth, leaf)
        carry = (empty, leaf, jnp.zeros(2), jnp.int32(2**depth))
        return jax.lax.scan(body, carry, (jnp.arange(2**depth, dtype=jnp.int32), path))[0][3]

    outcomes = set()
    for _ in range(60):
        path = leaves(2**depth)
        found = int(first_turn(jax.tree.map(jnp.asarray, path)))
        outcomes.add(found)
        for size in (2, 4, 8, 16):  # a tree that is complete when it ends
            assert turns(path, 0, size) == (found < size)
    assert len(outcomes) > 4


def test_depth_is_limited_and_reported():
    algorithm = mp.lmc(normal, mp.Euclidean(), 1e-3, mp.NUTS(3))
    _, info = one_step(algorithm, jnp.ones(5))
    assert info.n_steps == 7
    assert info.extra["tree_depth"] == 3
    assert info.extra["reached_max_treedepth"]
    assert not info.diverging


def test_cost_is_four_a_leaf_in_the_monge_metric():
    algorithm = mp.lmc(normal, mp.Monge(0.5), 1e-3, mp.NUTS(4))
    _, info = one_step(algorithm, jnp.ones(5))
    assert info.n_grad == 3 + 15 * 4


def test_divergences_end_the_tree_and_are_told():
    algorithm = mp.lmc(lambda x: -0.5e6 * x @ x, mp.Euclidean(), 0.1, mp.NUTS())
    state, info = one_step(algorithm, jnp.zeros(2))
    assert info.failure == mp.Failure.ENERGY
    assert info.diverging
    assert info.n_steps == 1
    assert not info.extra["reached_max_treedepth"]
    assert not state.position.any()


def test_a_small_divergence_threshold_costs_steps_and_not_exactness():
    """A tree is given up by the spread of its weights: an error relative to the start would depend on the start."""

    def density(x):
        return -0.5 * x @ x

    algorithm = mp.lmc(density, mp.Euclidean(), 1.6, mp.NUTS(5), divergence_threshold=2.0)

    def chain(key):
        def one(state, key):
            state, info = algorithm.step(key, state)
            return state, (state.position, info.diverging)

        start = jax.random.normal(key, (10,))
        return jax.lax.scan(one, algorithm.init(start), jax.random.split(key, 50))[1]

    draws, diverging = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), 2000))
    assert diverging.mean() > 0.05
    squares = np.asarray(draws**2).mean(axis=(1, 2))
    assert abs(squares.mean() - 1.0) < 4 * squares.std() / np.sqrt(len(squares))


def test_steps_that_do_not_lead_back_do_not_count_as_accepted():
    def G(x):
        return jnp.array([[1.0 + 3.0 * jnp.sin(8.0 * x[0]) ** 2]])

    algorithm = mp.rmhmc(lambda x: -0.5 * x @ x, mp.Dense(G), 0.8, mp.NUTS(2))
    keys, position = jax.random.split(jax.random.key(1), 500), jnp.array([0.1])
    _, info = steps_from(algorithm, position, keys)
    only = (info.failure >= mp.Failure.NON_CONVERGENT) & (info.n_steps == 1)
    assert only.any()
    assert not info.acceptance_rate[only].any()


def test_a_hole_in_the_density_is_never_entered():
    def holed(x):
        return jnp.where(jnp.abs(x[0]) < 0.3, jnp.nan, -0.5 * x @ x)

    algorithm = mp.lmc(holed, mp.Monge(0.5), 0.2, mp.NUTS())
    keys, position = jax.random.split(jax.random.key(0), 500), jnp.array([1.0, 0.0])
    states, info = steps_from(algorithm, position, keys)
    assert (states.position[:, 0] > 0.3).all()
    assert (info.failure == mp.Failure.NOT_FINITE).sum() > 50
    assert info.accepted.sum() > 50


@pytest.mark.slow
def test_sample_takes_it_and_says_when_trees_are_cut():
    with pytest.warns(mp.SamplingWarning, match="reached max_depth"):
        tree = mp.sample(
            mp.targets.funnel(2), metric=mp.Monge(0.1), trajectory=mp.NUTS(2), step_size=0.05, draws=50, warmup=0,
            progress=False,
        )  # fmt: skip
    stats = tree["sample_stats"]
    assert stats["tree_depth"].max() == 2
    assert stats["reached_max_treedepth"].dtype == bool
    assert tree["posterior"].attrs["trajectory"] == "NUTS"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_depth": 0}, "max_depth must be at least 1"),
        ({"max_depth": 40}, "max_depth must be at most 20"),
        ({"u_turn": "never"}, "u_turn must be one of"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(mp.SettingError, match=message):
        mp.NUTS(**settings)
