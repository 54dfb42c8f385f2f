"""The kernel as its users meet it: inside jit, vmap and scan, under BlackJAX, and when densities misbehave."""

import re

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from blackjax.util import run_inference_algorithm
from helpers import one_step
from problems import small_regression

import mongepatch as mp

METRICS = {"euclidean": mp.Euclidean(), "monge": mp.Monge(0.5), "dense": mp.Monge(0.5, np.diag([1.0, 2.0, 3.0]))}


def logdensity(parameters):
    return -0.5 * (parameters["mu"] ** 2 + (parameters["theta"] ** 2).sum())


POSITION = {"mu": jnp.array(0.3), "theta": jnp.array([0.1, -0.2])}


def test_chains_of_a_fixed_length_count_their_steps_together():
    """A loop of a known length: with a counter of each chain, all that it carries would be selected in every step."""

    def loops(trajectory):
        algorithm = mp.lmc(logdensity, mp.Euclidean(), 0.2, trajectory)
        states = jax.eval_shape(jax.vmap(algorithm.init), jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), POSITION))
        keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 3))
        return re.findall(r" (while|scan)\[", str(jax.make_jaxpr(jax.vmap(algorithm.step))(keys, states)))

    assert loops(mp.Static(5)) == ["scan"]
    assert "while" in loops(mp.Static(5, jitter=0.5))


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_runs_inside_jit_vmap_and_scan(metric):
    algorithm = mp.lmc(logdensity, metric, 0.2, mp.Static(5, jitter=0.5))

    def chain(key, position):
        return jax.lax.scan(
            lambda state, key: algorithm.step(key, state), algorithm.init(position), jax.random.split(key, 7)
        )

    positions = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), POSITION)
    states, infos = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), 3), positions)
    assert states.position["theta"].shape == (3, 2)
    assert infos.lp.shape == (3, 7)
    np.testing.assert_allclose(jax.vmap(logdensity)(states.position), states.logdensity, rtol=1e-12)
    np.testing.assert_allclose(infos.lp[:, -1], states.logdensity)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_runs_under_blackjax(metric):
    algorithm = mp.lmc(logdensity, metric, 0.5, mp.Static(5))
    final, (positions, infos) = run_inference_algorithm(
        jax.random.key(1),
        algorithm,
        200,
        initial_position=POSITION,
        transform=lambda state, info: (state.position, info),
    )
    assert positions["theta"].shape == (200, 2)
    assert infos.acceptance_rate.mean() > 0.5
    assert jax.tree.structure(final.position) == jax.tree.structure(POSITION)


def test_in_the_euclidean_metric_it_is_the_hmc_of_blackjax():
    """From the same velocity, the same end and the same energy error."""
    variance = jnp.array([0.5, 1.0, 2.0])
    target, step_size, num_steps = small_regression(), 0.1, 6
    ours = mp.lmc(target, mp.Euclidean(variance), step_size, mp.Static(num_steps))
    state, position = ours.init(jnp.full(3, 0.2)), jnp.full(3, 0.2)
    metric = blackjax.mcmc.metrics.default_metric(variance)
    step = jax.jit(blackjax.mcmc.integrators.velocity_verlet(target, metric.kinetic_energy))
    our_step = jax.jit(ours.step)
    for i in range(5):
        key = jax.random.key(i)
        noise = jax.random.normal(jax.random.split(key, 3)[0], (3,))
        path = mp.integrate(target, mp.Euclidean(variance), position, jnp.sqrt(variance) * noise, step_size, num_steps)
        _, info = our_step(key, state)
        momentum = blackjax.mcmc.integrators.IntegratorState(
            position, noise / jnp.sqrt(variance), *jax.value_and_grad(target)(position)
        )
        for _ in range(num_steps):
            momentum = step(momentum, step_size)
        np.testing.assert_allclose(path.position[-1], momentum.position, rtol=1e-12)
        error = (metric.kinetic_energy(momentum.momentum) - momentum.logdensity) - (
            0.5 * noise @ noise - target(position)
        )
        np.testing.assert_allclose(info.energy_error, error, atol=1e-12)


@pytest.mark.usefixtures("optimized")  # it looks at compiled code
@pytest.mark.parametrize(
    ("metric", "scheme", "of_a_step", "of_a_start"),
    [
        pytest.param(mp.Euclidean(), "merged", 1, 0, marks=pytest.mark.slow),
        pytest.param(mp.Euclidean(), "paper", 1, 0, marks=pytest.mark.slow),
        (mp.Monge(1.0), "merged", 3, 3),
        (mp.Monge(1.0), "paper", 4, 3),
    ],
)
def test_cost_is_what_the_compiled_program_does(metric, scheme, of_a_step, of_a_start):
    """Count the products with the data matrix in the compiled code, in units of those of one gradient.

    The matrix is small: of larger ones the products with two vectors are one product.
    """
    rng = np.random.default_rng(0)
    target = mp.targets.logistic_regression(rng.normal(size=(103, 7)), rng.random(103) < 0.5)
    algorithm = mp.lmc(target, metric, 0.1, mp.Static(10), scheme=scheme)
    state = algorithm.init(jnp.zeros(7))

    def products(function, *arguments):
        """In the entry of the compiled code, and in its loops."""
        parts = re.split(r"\n(?=\S)", jax.jit(function).lower(*arguments).compile().as_text())
        counts = {part.split()[0]: len(re.findall(r" dot\(.*103|103.* dot\(", part)) for part in parts if part}
        return counts.pop("ENTRY"), sum(counts.values())

    of_a_gradient = sum(products(jax.value_and_grad(target), jnp.zeros(7)))
    assert of_a_gradient > 0
    assert products(algorithm.step, jax.random.key(0), state) == (
        of_a_gradient * of_a_start,
        of_a_gradient * of_a_step,
    )
    _, info = jax.jit(algorithm.step)(jax.random.key(0), state)
    assert info.n_steps == 10
    assert info.n_grad == of_a_start + 10 * of_a_step


def test_jitter_draws_every_length_from_its_range_equally():
    def lengths(trajectory):
        return np.asarray(jax.vmap(trajectory.length)(jax.random.split(jax.random.key(0), 4000)))

    assert set(lengths(mp.Static(8))) == {8}
    counts = np.bincount(lengths(mp.Static(8, jitter=0.5)), minlength=9)
    assert not counts[:4].any()
    np.testing.assert_allclose(counts[4:], 800, atol=4 * np.sqrt(800))
    assert set(lengths(mp.Static(3, jitter=1.0))) == {1, 2, 3}


@pytest.mark.parametrize("bad", [jnp.nan, pytest.param(-jnp.inf, marks=pytest.mark.slow), jnp.inf])
@pytest.mark.parametrize("metric", [mp.Euclidean(), mp.Monge(1.0)], ids=["euclidean", "monge"])
def test_a_density_that_breaks_on_the_way_is_a_counted_rejection(metric, bad):
    def broken(x):
        return jnp.where(x.sum() > 0.5, bad, -0.5 * x @ x)

    algorithm = mp.lmc(broken, metric, 0.3, mp.Static(4))

    def one(state, key):
        state, info = algorithm.step(key, state)
        return state, (state.position, info)

    keys = jax.random.split(jax.random.key(0), 500)
    _, (draws, info) = jax.jit(lambda start: jax.lax.scan(one, start, keys))(algorithm.init(jnp.zeros(2)))
    assert np.isfinite(draws).all()
    assert (draws.sum(axis=1) <= 0.5).all()
    assert np.isfinite(info.lp).all()
    failed = info.failure == mp.Failure.NOT_FINITE
    assert failed.any()
    assert (info.diverging == failed).all()
    assert not info.accepted[failed].any()
    assert not info.acceptance_rate[failed].any()
    assert info.accepted[~failed].any()
    assert draws[-1].any()  # the chain went on


@pytest.mark.parametrize("metric", [mp.Euclidean(), mp.Monge(1.0)], ids=["euclidean", "monge"])
def test_a_path_through_a_hole_in_the_density_is_a_counted_rejection(metric):
    """The density is NaN on a strip that paths jump out of again: the end alone would look fine."""

    def holed(x):
        return jnp.where(jnp.abs(x[0]) < 0.3, jnp.nan, -0.5 * x @ x)

    algorithm = mp.lmc(holed, metric, 0.2, mp.Static(10))
    state = algorithm.init(jnp.array([1.0, 0.0]))
    states, info = jax.jit(jax.vmap(algorithm.step, (0, None)))(jax.random.split(jax.random.key(0), 500), state)
    assert (states.position[:, 0] > 0.3).all()
    assert (info.failure == mp.Failure.NOT_FINITE).sum() > 50
    assert info.accepted.sum() > 50


def test_no_uniform_variate_is_zero(monkeypatch):
    """In single precision uniform variates are 0 once in ten million draws; a logarithm of that accepts anything."""
    monkeypatch.setattr(jax.random, "uniform", lambda key, *args, **kwargs: jnp.zeros((), jnp.float32))
    monkeypatch.setattr(jax.random, "exponential", lambda key, *args, **kwargs: jnp.float32(104.0))  # its largest
    algorithm = mp.lmc(lambda x: -0.5e4 * x @ x, mp.Euclidean(), 0.3, mp.Static(1))
    _, info = one_step(algorithm, jnp.zeros(2, jnp.float32))
    assert info.energy_error > 110
    assert not info.accepted


def test_a_large_energy_error_is_a_divergence():
    algorithm = mp.lmc(lambda x: -0.5e6 * x @ x, mp.Euclidean(), 0.1, mp.Static(1))
    state, info = one_step(algorithm, jnp.zeros(2))
    assert info.failure == mp.Failure.ENERGY
    assert info.diverging
    assert not state.position.any()


def test_settings_are_traced():
    """A new step size, α, inverse mass and trajectory reuse one compilation."""
    traces = []

    def density(x):
        traces.append(1)
        return -0.5 * x @ x

    @jax.jit
    def step(key, position, metric, step_size, trajectory):
        algorithm = mp.lmc(density, metric, step_size, trajectory)
        return algorithm.step(key, algorithm.init(position))

    key, position = jax.random.key(0), jnp.ones(2)
    step(key, position, mp.Monge(0.5, jnp.ones(2)), 0.1, mp.Static(3))
    first = len(traces)
    ends = [
        step(key, position, mp.Monge(alpha, jnp.full(2, mass)), step_size, mp.Static(n, jitter=0.1))[0].position
        for alpha, mass, step_size, n in (
            (0.5, 1.0, 0.2, 3),
            (0.1, 1.0, 0.1, 3),
            (0.5, 2.0, 0.1, 3),
            (0.5, 1.0, 0.1, 9),
        )
    ]
    assert len(traces) == first
    assert len({tuple(np.asarray(end)) for end in ends}) == len(ends)


def test_single_precision_stays_single():
    metric = mp.Monge(0.5, np.ones(3))
    algorithm = mp.lmc(lambda x: -0.5 * x @ x, metric, 0.1, mp.Static(3))
    state, info = one_step(algorithm, jnp.ones(3, jnp.float32))
    assert state.position.dtype == info.energy.dtype == info.log_volume.dtype == jnp.float32
