"""The Euclidean metric with a center: x − center and v turn between kicks, and kicks are by the rest of the density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from problems import BASES, DENSITIES, inverse_mass, phase_points

import mongepatch as mp
from mongepatch.integrators import Lagrangian
from mongepatch.metrics import DriftingMetric, drift

CENTER, FREQUENCY = jnp.array([0.5, -1.0, 2.0, 0.3]), 1.3
COVARIANCE = inverse_mass("dense", 4)


def normal(x):
    """N(CENTER, COVARIANCE / FREQUENCY²), whose motion is nothing but a turn."""
    offset = x - CENTER
    return -0.5 * FREQUENCY**2 * offset @ jnp.linalg.solve(COVARIANCE, offset)


def phase(metric, logdensity, seed=0):
    x, z = jax.random.normal(jax.random.key(seed), (2, 4))
    point, _ = metric.at(logdensity, x)
    return x, metric.velocity_from_noise(point, z)


def test_in_the_density_of_the_center_steps_of_any_length_follow_the_motion_exactly():
    metric = mp.Euclidean(COVARIANCE, CENTER, FREQUENCY)
    x, v = phase(metric, normal)
    path = mp.integrate(normal, metric, x, v, 0.9, 5)
    angles = FREQUENCY * 0.9 * np.arange(6)[:, None]
    offset = x - CENTER
    np.testing.assert_allclose(path.energy, path.energy[0], rtol=1e-12)
    np.testing.assert_allclose(
        path.position, CENTER + np.cos(angles) * offset + np.sin(angles) / FREQUENCY * v, rtol=1e-10
    )
    np.testing.assert_allclose(path.velocity, np.cos(angles) * v - np.sin(angles) * FREQUENCY * offset, rtol=1e-10)


def test_its_frequency_is_1_unless_another_is_given():
    x, v = phase(mp.Euclidean(), normal)
    paths = [
        mp.integrate(normal, metric, x, v, 0.3, 3)
        for metric in (mp.Euclidean(COVARIANCE, CENTER), mp.Euclidean(COVARIANCE, CENTER, 1.0))
    ]
    np.testing.assert_array_equal(paths[0].position, paths[1].position)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("scheme", ["merged", "paper"])
def test_at_frequency_0_and_without_a_center_steps_are_leapfrog(base, scheme):
    logdensity, _, _ = DENSITIES["quartic"]
    covariance = inverse_mass(base, 4)
    flat, still = mp.Euclidean(covariance), mp.Euclidean(covariance, CENTER, 0.0)
    assert still.turns is flat.turns is False
    (x, *_), (z, *_) = phase_points("quartic")
    v = flat.velocity_from_noise(flat.at(logdensity, x)[0], z)
    one, other = (
        mp.integrate(logdensity, metric, x, v, 0.1, 4, integrator=Lagrangian(scheme)) for metric in (flat, still)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), one, other)


@pytest.mark.parametrize("scheme", ["merged", "paper"])
def test_trajectories_reverse_and_keep_volume(scheme):
    logdensity, _, _ = DENSITIES["quartic"]
    metric = mp.Euclidean(COVARIANCE, CENTER, FREQUENCY)
    (x, *_), (v, *_) = phase_points("quartic")

    def end(state):
        path = mp.integrate(logdensity, metric, state[:4], state[4:], 0.2, 5, integrator=Lagrangian(scheme))
        return jnp.concatenate([path.position[-1], path.velocity[-1]])

    start = jnp.concatenate([x, v])
    there = end(start)
    back = end(there.at[4:].multiply(-1.0))
    np.testing.assert_allclose(back, start.at[4:].multiply(-1.0), rtol=1e-9)
    assert abs(float(jnp.linalg.slogdet(jax.jacfwd(end)(start))[1])) < 1e-10


@pytest.mark.parametrize("scheme", ["merged", "paper"])
def test_energy_errors_fall_by_four_when_steps_are_halved(scheme):
    logdensity, _, _ = DENSITIES["quartic"]
    metric = mp.Euclidean(COVARIANCE, CENTER, FREQUENCY)
    (x, *_), (v, *_) = phase_points("quartic")

    def error(steps):
        path = mp.integrate(logdensity, metric, x, v, 0.4 / steps, steps, integrator=Lagrangian(scheme))
        return float(abs(path.energy[-1] - path.energy[0]))

    assert error(16) / error(32) == pytest.approx(4.0, rel=0.1)


def test_a_drift_loses_nothing_to_rounding_where_it_turns_by_little():
    metric = mp.Euclidean(None, jnp.zeros(4), 1e-5)
    x, v = phase(metric, normal)
    position, velocity = drift(metric, metric.at(normal, x)[0], v, 0.5)
    square = (0.5e-5) ** 2  # of the angle
    np.testing.assert_allclose(position - x - 0.5 * v, -square * (x / 2 + 0.5 * v / 6), atol=1e-15)
    np.testing.assert_allclose(velocity - v, -square * v / 2 - 0.5e-10 * x, atol=1e-15)


@pytest.mark.parametrize("step_size", [0.4, 0.9, 1.6])
@pytest.mark.parametrize("metric", [mp.Euclidean(), mp.Euclidean(None, [0.0], 0.7)], ids=["leapfrog", "turns"])
def test_steps_are_stable_below_a_curvature_and_unstable_above(metric, step_size):
    limit = metric.stable_curvature(step_size)

    def growth(curvature):
        """The largest eigenvalue of a step in N(0, 1/curvature), in absolute value."""

        def step(state):
            path = mp.integrate(lambda x: -0.5 * curvature * x @ x, metric, state[:1], state[1:], step_size, 1)
            return jnp.concatenate([path.position[-1], path.velocity[-1]])

        return float(jnp.abs(jnp.linalg.eigvals(jax.jacfwd(step)(jnp.zeros(2)))).max())

    assert growth(0.98 * limit) == pytest.approx(1.0, abs=1e-6)
    assert growth(1.02 * limit) > 1.05
    assert limit >= 4.0 / step_size**2 - 1e-12


def test_only_a_metric_that_drifts_otherwise_says_how():
    assert isinstance(mp.Euclidean(), DriftingMetric)
    metric = mp.Monge(0.5)
    assert not isinstance(metric, DriftingMetric)
    x, v = phase(metric, normal)
    position, velocity = drift(metric, metric.at(normal, x)[0], v, 0.5)
    np.testing.assert_array_equal(position, x + 0.5 * v)
    assert velocity is v


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"frequency": 1.0}, "give center"),
        ({"center": 3.0}, "vector of D finite numbers"),
        ({"center": [0.0, np.nan]}, "vector of D finite numbers"),
        ({"center": "mean"}, "an object of type str"),
        ({"center": [0.0], "frequency": -1.0}, "frequency must be"),
        ({"inverse_mass": "auto", "center": [0.0]}, "give both, or neither"),
    ],
)
def test_a_center_that_is_none_is_refused(arguments, told):
    with pytest.raises(mp.MetricError, match=told):
        mp.Euclidean(**arguments)


def test_a_center_of_another_dimension_is_refused():
    with pytest.raises(mp.MetricError, match="2 parameters; its shape is \\(3,\\)"):
        mp.sample(lambda x: -0.5 * x @ x, jnp.zeros(2), metric=mp.Euclidean(None, np.zeros(3)), progress=False)


def test_kernels_that_would_leave_the_center_out_say_so():
    metric, trajectory = mp.Euclidean(None, [0.0, 0.0]), mp.Static(3)
    with pytest.raises(mp.SettingError, match='"rmhmc" does not turn positions around a center'):
        mp.sample(lambda x: -0.5 * x @ x, jnp.zeros(2), metric=metric, kernel="rmhmc", progress=False)
    with pytest.raises(mp.SettingError, match='"mmala" does not turn'):
        mp.mmala(lambda x: -0.5 * x @ x, metric, 0.5)
    mp.lmc(lambda x: -0.5 * x @ x, metric, 0.5, trajectory)
