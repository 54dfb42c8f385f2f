"""Implicit steps: solved, reversible, symplectic, and caught where they are not."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import one_step, slow_but, steps_from
from problems import DENSITIES, curved, phase_points, relative_error

import mongepatch as mp
from mongepatch.integrators import Failure, FixedPoint, GeneralizedLeapfrog, ImplicitMidpoint

INTEGRATORS = {"leapfrog": GeneralizedLeapfrog(tolerance=1e-11), "midpoint": ImplicitMidpoint(tolerance=1e-11)}
METRICS = {
    "euclidean": mp.Euclidean([0.5, 1.0, 2.0, 1.5]),
    "monge": mp.Monge(0.5),
    "dense": mp.Dense(curved),
    "softabs": mp.SoftAbs(1.0),
}
EVERY = pytest.mark.parametrize(
    ("integrator", "metric"),
    slow_but(
        [(integrator, metric) for integrator in INTEGRATORS for metric in METRICS],
        *((integrator, "monge") for integrator in INTEGRATORS),
    ),
)
DENSITY = DENSITIES["quartic"][0]


@jax.jit
def start(metric):
    x, noise = (values[0] for values in phase_points("quartic"))
    return x, metric.velocity_from_noise(metric.at(DENSITY, x)[0], noise)


STARTS, STEPS = 17, 32


@functools.cache
def paths(integrator, metric):
    """Paths from so many starts at a step size each: one size for all that is asked, so that it is compiled once."""

    @jax.jit
    @jax.vmap
    def follow(x, v, step_size):
        return mp.integrate(DENSITY, METRICS[metric], x, v, step_size, STEPS, integrator=INTEGRATORS[integrator])

    return follow


@EVERY
def test_trajectories_reverse_and_change_volume_by_the_metric_alone(integrator, metric):
    """Volume in position and momentum is kept, so that in position and velocity it changes by the determinants of G."""
    follow, n = paths(integrator, metric), 4
    z, step = jnp.concatenate(start(METRICS[metric])), 1e-4
    starts = jnp.concatenate([z[None], z + step * jnp.eye(8), z - step * jnp.eye(8)])
    there = follow(*jnp.split(starts, 2, axis=1), jnp.full(STARTS, 0.1))
    assert not there.failure[:, : n + 1].any()
    ends = jnp.concatenate([there.position[:, n], there.velocity[:, n]], axis=1)
    back = follow(*jnp.split(ends, 2, axis=1), jnp.full(STARTS, -0.1))
    assert relative_error(back.position[:, n], starts[:, :4]) < 1e-7
    assert relative_error(back.velocity[:, n], starts[:, 4:]) < 1e-7
    jacobian = (ends[1:9] - ends[9:]).T / (2 * step)
    np.testing.assert_allclose(there.log_volume[0, n], np.linalg.slogdet(jacobian)[1], atol=1e-5)


@EVERY
def test_energy_error_is_of_second_order(integrator, metric):
    x, v = (jnp.tile(values, (STARTS, 1)) for values in start(METRICS[metric]))
    numbers = (STEPS // 2, STEPS)
    rows = paths(integrator, metric)(x, v, 0.4 / jnp.resize(jnp.array(numbers), STARTS))
    worst = []
    for i, n in enumerate(numbers):
        path = jax.tree.map(lambda values, i=i, n=n: values[i, : n + 1], rows)
        worst.append(float(jnp.abs(path.hamiltonian - path.hamiltonian[0]).max()))
        np.testing.assert_allclose(
            path.energy - path.log_volume - path.energy[0], path.hamiltonian - path.hamiltonian[0], atol=1e-10
        )
    assert 3.4 < worst[0] / worst[1] < 4.6


@pytest.mark.parametrize("integrator", INTEGRATORS.values(), ids=INTEGRATORS)
def test_in_a_flat_metric_the_leapfrog_is_the_ordinary_one(integrator):
    metric = METRICS["euclidean"]
    x, v = start(metric)
    path = mp.integrate(DENSITY, metric, x, v, 0.05, 5, integrator=integrator)
    flat = mp.integrate(DENSITY, metric, x, v, 0.05, 5)
    tolerance = 1e-8 if isinstance(integrator, GeneralizedLeapfrog) else 0.02
    np.testing.assert_allclose(path.position, flat.position, atol=tolerance)


@pytest.mark.parametrize("slope", [0.5, -0.9, 3.0, -20.0])
def test_the_solver_finds_fixed_points_that_repel(slope):
    """Plain iteration multiplies errors by the slope: beyond 1 only Newton's method arrives."""
    matrix = slope * jnp.array([[1.0, 0.2], [0.1, 0.8]])

    def function(z):
        return matrix @ z + jnp.sin(z) * 0.1 + 1.0

    solution = jax.jit(lambda: FixedPoint().solve(function, jnp.zeros(2), 1e-12))()
    assert solution.converged
    np.testing.assert_allclose(function(solution.value), solution.value, atol=1e-11)


def test_the_solver_says_when_there_is_no_fixed_point():
    for function in (lambda z: z + 1.0, lambda z: z**2 + 1.0, lambda z: z * jnp.nan):
        assert not FixedPoint().solve(function, jnp.zeros(1), 1e-9).converged


def test_the_solver_counts_what_it_does():
    calls = []

    def function(z):
        jax.debug.callback(lambda _: calls.append(1), z)
        return 0.5 * z + 1.0

    solution = FixedPoint(max_newton=0).solve(function, jnp.zeros(1), 1e-6)
    jax.effects_barrier()
    assert len(calls) == solution.n_maps


def test_a_step_without_a_solution_is_counted_and_rejected():
    target = mp.targets.neal_funnel(1)
    algorithm = mp.rmhmc(target, mp.Fisher(target.information), 2.5, mp.Static(3))
    keys, position = jax.random.split(jax.random.key(0), 400), jnp.array([0.0, -1.0])
    states, info = steps_from(algorithm, position, keys)
    failed = info.extra["non_convergent"] | info.extra["non_reversible"]
    assert info.extra["non_convergent"].any()
    assert 20 < failed.sum() < 400
    assert (failed == (info.failure >= Failure.NON_CONVERGENT)).all()
    assert not info.accepted[failed].any()
    assert not info.acceptance_rate[failed].any()
    assert info.diverging[failed].all()
    assert np.isnan(info.energy_error[failed]).all()
    assert (states.position[failed] == position).all()


def test_a_step_that_does_not_lead_back_is_caught():
    """The equation of this step has several solutions: going back, the solver finds another than it came from."""

    def G(x):
        return jnp.array([[1.0 + 3.0 * jnp.sin(8.0 * x[0]) ** 2]])

    algorithm = mp.rmhmc(lambda x: -0.5 * x @ x, mp.Dense(G), 0.8, mp.Static(1))
    keys, position = jax.random.split(jax.random.key(1), 500), jnp.array([0.1])
    _, info = steps_from(algorithm, position, keys)
    assert info.extra["non_reversible"].any()


def test_n_grad_counts_iterations():
    """Looser tolerances need fewer."""
    costs = []
    for tolerance in (1e-10, 1e-4):
        integrator = GeneralizedLeapfrog(tolerance, reversal_tolerance=1.0)
        algorithm = mp.rmhmc(DENSITY, mp.Monge(0.5), 0.1, mp.Static(5), integrator=integrator)
        _, info = one_step(algorithm, jnp.full(4, 0.3))
        costs.append(int(info.n_grad))
    # At least two points with slopes, two forces and an iteration of each kind, there and back, in each of five steps.
    assert costs[0] > costs[1] > 5 * 2 * (4 + 2 + 2)


def test_settings_are_checked():
    for wrong in ("verlet", ImplicitMidpoint, mp.integrators.Lagrangian(), mp.integrators.Implicit()):
        with pytest.raises(mp.SettingError, match="integrator must be one of"):
            mp.rmhmc(DENSITY, mp.Monge(1.0), 0.1, mp.Static(3), integrator=wrong)
    with pytest.raises(mp.SettingError, match="tolerance must be above 0"):
        GeneralizedLeapfrog(tolerance=0.0)
    with pytest.raises(mp.SettingError, match="integrator must be one"):
        mp.integrate(DENSITY, mp.Monge(1.0), jnp.zeros(4), jnp.ones(4), 0.1, 3, integrator="midpoint")


@pytest.mark.slow
@pytest.mark.parametrize("integrator", [GeneralizedLeapfrog(), ImplicitMidpoint()], ids=INTEGRATORS)
def test_units_of_the_parameters_do_not_matter(integrator):
    """The same target in nanometres and in kilometres: the same failures, for the same number of gradients."""

    @jax.jit
    def run(scale):
        def metric_fn(x):
            y = x / scale
            return (jnp.diag(1.0 + y**2) + 0.5 * jnp.outer(y, y)) / scale**2

        def density(x):
            return -0.5 * (x / scale) @ (x / scale)

        algorithm = mp.rmhmc(density, mp.Dense(metric_fn), 0.6, mp.Static(3), integrator=integrator)
        state = algorithm.init(scale * jnp.array([0.5, -0.3]))
        _, info = jax.vmap(algorithm.step, (0, None))(jax.random.split(jax.random.key(0), 300), state)
        return (info.failure > 0).sum(), info.n_grad.sum()

    found = [tuple(int(count) for count in run(scale)) for scale in (1.0, 1e-9, 1e6)]
    for failures, n_grad in found[1:]:
        assert abs(failures - found[0][0]) <= 3
        assert abs(n_grad / found[0][1] - 1.0) < 0.05
