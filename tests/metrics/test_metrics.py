"""The closed forms of the Monge metric against automatic differentiation of G = M + α² ∇ℓ ∇ℓᵀ."""

import functools
from functools import partial

import jax
import jax.numpy as jnp
import pytest
from problems import ALPHAS, BASES, DENSITIES, inverse_mass, mass_matrix, phase_points, relative_error

import mongepatch as mp
from mongepatch.metrics import energy, hamiltonian

TOLERANCE = 1e-10
# As for trajectories: all bases with one density, and all densities with one base, run every line that the others do.
CASES = pytest.mark.parametrize(
    ("name", "base"),
    [
        pytest.param(name, base, marks=[] if name == "quartic" or base == "dense" else [pytest.mark.slow])
        for name in DENSITIES
        for base in BASES
    ],
)


def dense_metric(logdensity, mass, alpha):
    def G(x):
        g = jax.grad(logdensity)(x)
        return mass + alpha**2 * jnp.outer(g, g)

    return G


def christoffel(G, x):
    """Γᵏᵢⱼ from derivatives of G alone."""
    dG = jax.jacfwd(G)(x)  # dG[i, j, l] = ∂ₗ Gᵢⱼ
    lowered = 0.5 * (jnp.einsum("jli->lij", dG) + jnp.einsum("ilj->lij", dG) - jnp.einsum("ijl->lij", dG))
    return jnp.einsum("kl,lij->kij", jnp.linalg.inv(G(x)), lowered)


def kick(metric, point, slope, velocity, length):
    """The kicked velocity and its log-volume."""
    kicked, _, log_volume = metric.kick(point, slope, velocity, metric.bend(point, slope, velocity), length)
    return kicked, log_volume


LENGTH = 0.05


@functools.cache
def errors(name, base):
    """Relative errors of every closed form, for each α and point of a case: compiled once, looked at by many tests."""
    logdensity, _, _ = DENSITIES[name]
    positions, noises = phase_points(name)
    dimension = positions.shape[1]
    covariance, mass = inverse_mass(base, dimension), mass_matrix(base, dimension)

    def compare(alpha, x, noise):
        metric, G = mp.Monge(alpha, covariance), dense_metric(logdensity, mass, alpha)
        point, slope = metric.at(logdensity, x)
        v = metric.velocity_from_noise(point, noise)
        matrix, inverse, gamma = G(x), jnp.linalg.inv(G(x)), christoffel(G, x)
        half_log_det, half_log_det_gradient = jax.value_and_grad(lambda y: 0.5 * jnp.linalg.slogdet(G(y))[1])(x)
        kinetic = 0.5 * v @ matrix @ v
        hessian, share = jax.vmap(slope.hessian_times)(jnp.eye(dimension)), alpha**2 / point.stretch
        root = jax.jacfwd(lambda z: metric.velocity_from_noise(point, z))(noise)
        result = {
            "log det": (metric.log_det(point), 2 * half_log_det),
            "momentum": (metric.momentum(point, noise), matrix @ noise),
            "inverse": (jax.vmap(lambda p: metric.velocity(point, p))(jnp.eye(dimension)), inverse),
            "round trip": (metric.velocity(point, metric.momentum(point, noise)), noise),
            "velocity draw is linear": (root @ noise, v),
            "velocity covariance": (root @ root.T, inverse),
            "energy": (energy(metric, point, v), kinetic - logdensity(x) - half_log_det),
            "hamiltonian": (hamiltonian(metric, point, v), kinetic - logdensity(x) + half_log_det),
            "christoffel": (share * jnp.einsum("k,ij->kij", metric.inverse_mass.apply(point.gradient), hessian), gamma),
            "gradient of log det": (share * slope.curvature, half_log_det_gradient),
        }
        for length in (LENGTH, -LENGTH):
            kicked, log_volume = kick(metric, point, slope, v, length)
            jacobian = jax.jacfwd(lambda v, length=length: kick(metric, point, slope, v, length)[0])(v)
            back, volume_back = kick(metric, point, slope, kicked, -length)
            force = jax.grad(logdensity)(x) - half_log_det_gradient
            left = jnp.eye(dimension) + length * jnp.einsum("k,ikj->ij", v, gamma)
            result |= {
                f"kick {length}": (kicked, jnp.linalg.solve(left, v + length * inverse @ force)),
                f"log-volume {length}": (log_volume, jnp.linalg.slogdet(jacobian)[1]),
                f"kick back {length}": (back, v),
                f"volume back {length}": (log_volume + volume_back, 0.0),
            }
        return {key: relative_error(value, reference) for key, (value, reference) in result.items()}

    over_points = jax.vmap(compare, (None, 0, 0))
    return jax.jit(jax.vmap(over_points, (0, None, None)))(jnp.array(ALPHAS), positions, noises)


@CASES
@pytest.mark.parametrize(
    "quantity",
    [
        "log det",
        "momentum",
        "inverse",
        "round trip",
        "velocity draw is linear",
        "velocity covariance",
        "energy",
        "hamiltonian",
        "christoffel",
        "gradient of log det",
        *(f"{what} {e}" for what in ("kick", "log-volume", "kick back", "volume back") for e in (LENGTH, -LENGTH)),
    ],
)
def test_closed_form_agrees_with_automatic_differentiation(name, base, quantity):
    assert errors(name, base)[quantity].shape == (len(ALPHAS), 3)
    assert errors(name, base)[quantity].max() < TOLERANCE


@pytest.mark.parametrize("base", BASES)
def test_monge_with_alpha_zero_is_euclidean(base):
    logdensity, _, _ = DENSITIES["quartic"]
    x, v = (values[0] for values in phase_points("quartic"))
    monge, euclidean = (
        kind(inverse_mass=inverse_mass(base, x.size)) for kind in (partial(mp.Monge, 0.0), mp.Euclidean)
    )
    (p, slope), (q, _) = monge.at(logdensity, x), euclidean.at(logdensity, x)
    kicked, log_volume = kick(monge, p, slope, v, 0.3)
    assert log_volume == 0
    assert jnp.array_equal(kicked, kick(euclidean, q, None, v, 0.3)[0])
    for question in ("momentum", "velocity", "velocity_from_noise"):
        assert jnp.allclose(getattr(monge, question)(p, v), getattr(euclidean, question)(q, v), rtol=1e-14, atol=0)
    assert jnp.allclose(monge.log_det(p), euclidean.log_det(q), rtol=1e-14)


def test_a_kick_of_no_length_changes_nothing():
    metric, density = mp.Monge(3.0), DENSITIES["funnel"][0]
    x, v = (values[0] for values in phase_points("funnel"))
    point, slope = metric.at(density, x)
    kicked, log_volume = kick(metric, point, slope, v, 0.0)
    assert jnp.array_equal(kicked, v)
    assert log_volume == 0


def test_steep_points_lose_no_digits():
    """At a stretch of 1e12 the paper's form of the kick cancels numbers far larger than its result; ours must not."""
    density, metric = mp.targets.funnel(1), mp.Monge(1.0)
    x, noise = jnp.array([1.0, -14.0]), jnp.array([0.3, -0.8])
    point, slope = metric.at(density, x)
    assert point.stretch > 1e11
    v = metric.velocity_from_noise(point, noise)
    kicked, _ = kick(metric, point, slope, v, 1e-3)
    back, _ = kick(metric, point, slope, kicked, -1e-3)
    assert relative_error(back, v) < 1e-9


def test_no_matrix_is_formed_in_the_monge_metric():
    """At D = 200,000 a single D × D array would take 320 GB."""
    dimension = 200_000
    metric = mp.Monge(1.0, jnp.ones(dimension))
    point, slope = metric.at(lambda x: -0.25 * (x**4).sum(), jnp.ones(dimension))
    kicked, _ = kick(metric, point, slope, jnp.ones(dimension), 0.1)
    assert kicked.shape == (dimension,)
