"""Whole trajectories: exact log-volume, exact reversal, second order, and leapfrog at α = 0."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but
from problems import ALPHAS, BASES, DENSITIES, inverse_mass, mass_matrix, phase_points, relative_error

import mongepatch as mp
from mongepatch import paper
from mongepatch.integrators import Lagrangian
from mongepatch.metrics import fitted

SCHEMES = pytest.mark.parametrize("scheme", ["merged", "paper"])
MERGED_FIRST = pytest.mark.parametrize("scheme", slow_but(["merged", "paper"], "merged"))
# A base metric is told apart by `InverseMass` alone, whatever the density. Two pairs run nearly every line that the
# others do. Those are slow.
SOME = ("funnel", "ring", "quartic")
CASES = pytest.mark.parametrize(
    ("name", "base"),
    slow_but(
        [(name, base) for name in DENSITIES for base in BASES],
        ("quartic", "diagonal"),
        ("funnel", "dense"),
    ),
)
# Short enough for Jacobians whose determinants have ten digits: at 0.1 those of the ring have condition numbers of 5e8.
STEP = {"funnel": 0.1, "squiggle": 0.01, "ring": 0.02, "rosenbrock": 0.05, "logistic": 0.1, "quartic": 0.1}


def over_alphas(name, base, scheme, look):
    """`look(follow, x, v)` for every α, where follow(x, v, step_size, num_steps) is a path in that metric."""
    density = DENSITIES[name][0]
    x, noise = (values[0] for values in phase_points(name))

    def one(alpha):
        metric = mp.Monge(alpha, inverse_mass(base, x.size))
        v = metric.velocity_from_noise(metric.at(density, x)[0], noise)
        return look(functools.partial(mp.integrate, density, metric, integrator=Lagrangian(scheme)), x, v)

    return jax.jit(jax.vmap(one))(jnp.array(ALPHAS))


@functools.cache
def there_and_back(name, base, scheme):
    """Log-volumes with what they should be, and errors of the way back: compiled once, looked at by two tests."""

    def look(follow, x, v):
        def trajectory(z, step_size):
            def ends(z):
                path = follow(*jnp.split(z, 2), step_size, 10)
                z = jnp.concatenate([path.position, path.velocity], axis=1)
                return z[5], (z[10], path.log_volume[5], path.log_volume[10])

            jacobian, (end, middle_volume, volume) = jax.jacfwd(ends, has_aux=True)(z)
            return end, volume, (middle_volume, jnp.linalg.slogdet(jacobian)[1])

        # Away from the start, then back to it: turned around in velocity, and in time. A loop, to be compiled once.
        start, halves = jnp.concatenate([x, v]), (slice(x.size), slice(x.size, None))
        turn = jnp.ones(2 * x.size).at[halves[1]].set(-1.0)

        def go(there, i):
            z = jnp.stack([start, there * turn, there])[i]
            end, volume, volumes = trajectory(z, STEP[name] * jnp.array([1.0, 1.0, -1.0])[i])
            return jnp.where(i == 0, end, there), (end, volume, volumes)

        _, (end, volume, volumes) = jax.lax.scan(go, start, jnp.arange(3))
        turned, rewound = end[1] * turn, end[2]
        errors = [
            relative_error(part, of)
            for z in (turned, rewound)
            for part, of in zip(jnp.split(z, 2), (x, v), strict=True)
        ]
        return *(values[0] for values in volumes), jnp.stack([*errors, jnp.abs(volume[0] + volume[1])])

    return over_alphas(name, base, scheme, look)


@MERGED_FIRST
@CASES
def test_log_volume_is_the_log_determinant_of_the_trajectory(name, base, scheme):
    log_volume, expected, _ = there_and_back(name, base, scheme)
    np.testing.assert_allclose(log_volume, expected, rtol=1e-10, atol=1e-10)
    assert (np.abs(log_volume[1:]) > 1e-8).all()  # there is something to agree on, but for α = 0


@SCHEMES
@CASES
def test_trajectories_reverse(name, base, scheme):
    assert there_and_back(name, base, scheme)[2].max() < 1e-10


@MERGED_FIRST
@pytest.mark.parametrize("name", slow_but(DENSITIES, *SOME))
def test_energy_error_is_of_second_order(name, scheme):
    """Halving the step over a fixed time quarters the worst error of the Hamiltonian, and of E − log-volume."""

    def look(follow, x, v):
        # Both go on for as many steps, to be compiled once; of the longer ones half are looked at.
        paths = jax.vmap(lambda n: follow(x, v, 2 * STEP[name] / n, 256))(jnp.array([128.0, 256.0]))
        conserved = jnp.stack([paths.hamiltonian, paths.energy - paths.log_volume])
        error = jnp.abs(conserved - conserved[:, :, :1])
        return jnp.log2(error[:, 0, :129].max(axis=1) / error[:, 1].max(axis=1))

    np.testing.assert_allclose(over_alphas(name, "dense", scheme, look), 2.0, atol=0.05)


@MERGED_FIRST
@pytest.mark.parametrize("base", BASES)
def test_alpha_zero_is_leapfrog(base, scheme):
    density = DENSITIES["quartic"][0]
    x, v = (values[0] for values in phase_points("quartic"))
    covariance = jnp.linalg.inv(mass_matrix(base, x.size))
    path = mp.integrate(
        density, mp.Monge(0.0, inverse_mass(base, x.size)), x, v, 0.1, 20, integrator=Lagrangian(scheme)
    )
    flat = mp.integrate(density, mp.Euclidean(inverse_mass(base, x.size)), x, v, 0.1, 20, integrator=Lagrangian(scheme))
    assert relative_error(path.position, flat.position) < 1e-14
    assert not path.log_volume.any()
    for n in range(20):
        v = v + 0.05 * covariance @ jax.grad(density)(x)
        x = x + 0.1 * v
        v = v + 0.05 * covariance @ jax.grad(density)(x)
        assert relative_error(path.position[n + 1], x) < 1e-13
        assert relative_error(path.velocity[n + 1], v) < 1e-13


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_kick_does_not_overflow_on_steep_targets_in_single_precision(alpha):
    """The square of h = Hn does."""
    scale, length = np.float32(3e-7), jnp.float32(3e-8)
    x, noise = (jnp.array(values, jnp.float32) for values in ([1.0, -2.0, 0.5], [0.3, 1.0, -1.0]))
    metric = fitted(mp.Monge(alpha), x)
    point, slope = metric.at(lambda x: -0.5 * ((x / scale) ** 2).sum(), scale * x)
    velocity = metric.velocity_from_noise(point, noise)
    kicked, _, log_volume = metric.kick(point, slope, velocity, metric.bend(point, slope, velocity), length)
    assert kicked.dtype == log_volume.dtype == jnp.float32
    assert jnp.isfinite(kicked).all()
    assert jnp.isfinite(log_volume)


@SCHEMES
def test_row_n_of_a_path_is_the_end_of_a_trajectory_of_n_steps(scheme):
    follow = functools.partial(mp.integrate, mp.targets.funnel(3), mp.Monge(1.0), integrator=Lagrangian(scheme))
    x, v = (values[0] for values in phase_points("funnel"))
    whole, part = follow(x, v, 0.1, 6), follow(x, v, 0.1, 4)
    assert whole.position.shape == (7, x.size)
    for rows, fewer in zip(whole, part, strict=True):
        np.testing.assert_allclose(rows[4], fewer[-1], rtol=1e-12)


def test_large_alpha_keeps_to_the_ring():
    """Figure 3 of the paper: at α = 0 the path swings between the walls of the ring, at larger α it orbits."""
    ring, preset = mp.targets.ring(), paper.preset("ring")
    swing = []
    for alpha in (0.0, 1.0):
        path = mp.integrate(ring, mp.Monge(alpha), [12.0, 0.0], [1.0, 1.0], preset.step_size, preset.num_steps)
        swing.append(float(jnp.ptp(jnp.linalg.norm(path.position, axis=1))))
    assert swing[1] < 0.5 * swing[0]
