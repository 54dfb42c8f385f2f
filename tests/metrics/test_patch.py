"""The patch of a residual map against automatic differentiation of G = M + α² JᵀJ."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but
from problems import inverse_mass, mass_matrix, relative_error

import mongepatch as mp
from mongepatch.integrators import Lagrangian, Phase
from mongepatch.metrics import fitted
from mongepatch.metrics.low_rank import LowRank
from mongepatch.metrics.patch.algebra import algebra

TOLERANCE = 1e-10
ALPHAS = (0.0, 0.7, 2.0)
LENGTH = 0.05
rng = np.random.default_rng(8)
OBSERVED, WIDE, TALL = rng.normal(size=6), rng.normal(size=(3, 10)), rng.normal(size=(12, 10))
GROUP = [0, 1, 2, 3, 1, 2]


def hierarchy(x):
    mean, log_scale, effects = x[0], x[1], x[2:]
    known = (effects[jnp.array(GROUP)] - OBSERVED) / 0.8
    return jnp.concatenate([x[:1] / 5, log_scale[None], (effects - mean) * jnp.exp(-log_scale), known])


def walk(x):
    path, log_scale, level = x[:-2], x[-2], x[-1]
    steps = jnp.diff(path) * jnp.exp(-log_scale)
    return jnp.concatenate([steps, path[:1] - level, jnp.sin(path) * level, x[-2:]])


def pairs(x):
    """Two correlated effects for each of four groups."""
    log_scale, effects = x[0], x[1:].reshape(4, 2)
    first = effects[:, 0] * jnp.exp(-log_scale)
    second = (effects[:, 1] - jnp.tanh(log_scale) * effects[:, 0]) * jnp.exp(-log_scale)
    return jnp.concatenate([log_scale[None], first, second, effects.prod(1)])


# Each map with its dimension and the form of its algebra where M is diagonal.
MAPS = {
    "hierarchy": (hierarchy, 6, "SparseAlgebra"),
    "walk": (walk, 11, "SparseAlgebra"),
    "pairs": (pairs, 9, "SparseAlgebra"),
    "square": (lambda x: jnp.stack([x[0] * x[1], jnp.sin(x[2]) + x[0], x[1] ** 2 * x[2]]), 3, "SparseAlgebra"),
    "one residual": (lambda x: jnp.sin(x).sum()[None] ** 2, 4, "SparseAlgebra"),
    "wide": (lambda x: jnp.sin(WIDE @ x), 10, "WideAlgebra"),
    "tall": (lambda x: jnp.sin(TALL @ x), 10, "TallAlgebra"),
}
BASES = ("identity", "diagonal", "dense", "low-rank")
CASES = [(name, "diagonal") for name in MAPS] + [("hierarchy", base) for base in ("identity", "dense", "low-rank")]
CASES += [("wide", "dense"), ("wide", "low-rank"), ("tall", "dense")]


def low_rank(dimension):
    directions, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(dimension, 2)))
    return LowRank(jnp.linspace(0.5, 1.5, dimension), jnp.asarray(directions), jnp.array([3.0, 0.4]))


def base_and_mass(kind, dimension):
    if kind != "low-rank":
        return inverse_mass(kind, dimension), mass_matrix(kind, dimension)
    base = low_rank(dimension)
    return base, jax.vmap(base.solve)(jnp.eye(dimension))


def density(x):
    return -0.5 * x @ x - 0.1 * (x**4).sum() + jnp.sin(x).sum()


def points(dimension, n=2):
    return 0.6 * jax.random.normal(jax.random.key(3), (n, dimension)), jax.random.normal(
        jax.random.key(4), (n, dimension)
    )


def kick(metric, point, slope, velocity, length):
    kicked, _, log_volume = metric.kick(point, slope, velocity, metric.bend(point, slope, velocity), length)
    return kicked, log_volume


@functools.cache
def errors(name, base):
    residuals, dimension, _ = MAPS[name]
    covariance, mass = base_and_mass(base, dimension)
    positions, noises = points(dimension)

    def compare(metric, x, noise):
        def G(x):
            J = jax.jacfwd(residuals)(x)
            return mass + metric.alpha**2 * J.T @ J

        point, slope = metric.at(density, x)
        v = metric.velocity_from_noise(point, noise)
        matrix, gradient = G(x), jax.grad(density)(x)
        half_log_det, log_det_gradient = jax.value_and_grad(lambda y: 0.5 * jnp.linalg.slogdet(G(y))[1])(x)
        root = jax.jacfwd(lambda z: metric.velocity_from_noise(point, z))(noise)
        J, change = jax.jvp(jax.jacfwd(residuals), (x,), (v,))
        omega = metric.alpha**2 * J.T @ change
        result = {
            "log det": (metric.log_det(point), 2 * half_log_det),
            "momentum": (metric.momentum(point, noise), matrix @ noise),
            "inverse": (jax.vmap(lambda p: metric.velocity(point, p))(jnp.eye(dimension)), jnp.linalg.inv(matrix)),
            "velocity draw is linear": (root @ noise, v),
            "velocity covariance": (root @ root.T, jnp.linalg.inv(matrix)),
            "gradient of log det": (slope.log_det, log_det_gradient),
            "force": (
                metric.force(point, slope, v),
                gradient - log_det_gradient + jax.grad(lambda y: 0.5 * v @ G(y) @ v)(x),
            ),
        }
        for length in (LENGTH, -LENGTH):
            kicked, log_volume = kick(metric, point, slope, v, length)
            jacobian = jax.jacfwd(lambda v, length=length: kick(metric, point, slope, v, length)[0])(v)
            back, volume_back = kick(metric, point, slope, kicked, -length)
            reference = jnp.linalg.solve(matrix + length * omega, matrix @ v + length * (gradient - log_det_gradient))
            result |= {
                f"kick {length}": (kicked, reference),
                f"log-volume {length}": (log_volume, jnp.linalg.slogdet(jacobian)[1]),
                f"kick back {length}": (back, v),
                f"volume back {length}": (log_volume + volume_back, 0.0),
            }
        return {key: relative_error(value, reference) for key, (value, reference) in result.items()}

    metric = fitted(mp.Patch(residuals, 1.0, covariance), positions[0])
    over_points = jax.jit(jax.vmap(compare, (None, 0, 0)))
    return [over_points(with_alpha(metric, alpha), positions, noises) for alpha in ALPHAS]


def with_alpha(metric, alpha):
    return mp.Patch(metric.residuals, alpha, metric.inverse_mass)


FAST = [("hierarchy", "diagonal"), ("wide", "dense")]


@pytest.mark.parametrize(("name", "base"), slow_but(CASES, *FAST))
def test_closed_forms_agree_with_automatic_differentiation(name, base):
    for alpha, found in zip(ALPHAS, errors(name, base), strict=True):
        for quantity, error in found.items():
            assert error.max() < TOLERANCE, f"{quantity} at α = {alpha}"


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("base", BASES)
def test_the_form_of_the_algebra_follows_from_base_and_pattern(name, base):
    residuals, dimension, form = MAPS[name]
    plan = fitted(mp.Patch(residuals, 1.0), jnp.zeros(dimension)).residuals.plan(dimension)
    metric = mp.Patch(residuals, 1.0, base_and_mass(base, dimension)[0])
    if base in ("dense", "low-rank"):
        form = "WideAlgebra" if plan.pattern.shape[0] < dimension else "TallAlgebra"
    assert type(algebra(plan, metric.inverse_mass, 1.0)).__name__ == form


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", slow_but(["hierarchy", "wide", "tall"], "hierarchy"))
def test_alpha_zero_is_euclidean(name, base):
    residuals, dimension, _ = MAPS[name]
    covariance, _ = base_and_mass(base, dimension)
    x, v = (values[0] for values in points(dimension))

    @jax.jit
    def kicked(metric):
        return kick(metric, *metric.at(density, x), v, 0.3)

    ours, log_volume = kicked(mp.Patch(residuals, 0.0, covariance))
    assert log_volume == 0
    assert relative_error(ours, kicked(mp.Euclidean(covariance))[0]) < 1e-14


def test_one_residual_is_the_monge_metric():
    x, v = (values[0] for values in points(12))
    for base in ("diagonal", "dense"):
        covariance = inverse_mass(base, 12)

        @jax.jit
        def answers(metric):
            point, slope = metric.at(density, x)
            draw, force = metric.velocity_from_noise(point, v), metric.force(point, slope, v)
            return (*kick(metric, point, slope, v, 0.1), force, metric.log_det(point), draw)

        found = answers(mp.Monge(0.8, covariance)), answers(mp.Patch(lambda x: density(x)[None], 0.8, covariance))
        for monge, patch in zip(*found, strict=True):
            assert relative_error(patch, monge) < 1e-12


@pytest.mark.parametrize("scheme", slow_but(["merged", "paper"], "merged"))
@pytest.mark.parametrize("name", ["hierarchy", "wide"])
def test_trajectories_reverse_and_know_their_volume(name, scheme):
    residuals, dimension, _ = MAPS[name]
    metric = fitted(mp.Patch(residuals, 0.7, inverse_mass("diagonal", dimension)), jnp.zeros(dimension))
    x, noise = (values[0] for values in points(dimension))

    @jax.jit
    def end(x, v):
        point, _ = metric.at(density, x)
        phase = Lagrangian(scheme).run(density, metric, Phase.start(point, v), jnp.asarray(0.1), 3)
        return phase.point.position, phase.velocity, phase.log_volume

    v = 0.3 * noise
    (far, velocity, log_volume) = end(x, v)
    back, reverse, volume_back = end(far, -velocity)
    assert relative_error(back, x) < 1e-11
    assert relative_error(-reverse, v) < 1e-11
    assert abs(log_volume + volume_back) < 1e-11
    jacobian = jax.jacfwd(lambda s: jnp.concatenate(end(s[:dimension], s[dimension:])[:2]))(jnp.concatenate([x, v]))
    assert abs(jnp.linalg.slogdet(jacobian)[1] - log_volume) < 1e-10


def test_other_numbers_do_not_compile_again():
    x, noise = (values[0] for values in points(6))
    compiled = jax.jit(lambda metric, x, v: metric.velocity_from_noise(metric.at(density, x)[0], v))
    for alpha, scale, shift in ((1.0, 1.0, 0.0), (0.5, 2.0, 1.0)):
        data = jnp.asarray(OBSERVED + shift)

        def residuals(x, data=data):
            return jnp.concatenate([x[1:2], (x - data) * jnp.exp(-x[1])])

        metric = fitted(mp.Patch(residuals, alpha, scale * np.ones(6)), x)
        assert np.isfinite(compiled(metric, x, noise)).all()
    assert compiled._cache_size() == 1


def test_a_metric_that_is_not_positive_definite_is_nan():
    metric = mp.Patch(hierarchy, 1.0)

    @jax.jit
    def answers(x):
        point, _ = metric.at(density, x)
        return metric.velocity_from_noise(point, jnp.ones(6)), metric.log_det(point)

    velocity, log_det = answers(jnp.full(6, jnp.nan))
    assert jnp.isnan(velocity).all()
    assert jnp.isnan(log_det)


def test_products_are_counted_by_colours():
    metric = mp.Patch(hierarchy, 1.0)
    assert metric.cost(6) == mp.metrics.Cost(point=4, slope=3, revisit=3, bend=3, volume_bends=1, force=2)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda: mp.Patch(hierarchy, "auto"), "alpha"),
        (lambda: mp.Patch(hierarchy, 1.0, "auto"), "inverse_mass"),
        (lambda: mp.Patch(hierarchy, 1.0, np.ones(5)), "shape"),
        (lambda: mp.Patch(lambda x: x.sum(), 1.0), "must return a vector"),
        (lambda: mp.Patch(lambda x: (x, x), 1.0), "one array"),
        (lambda: mp.Patch(3.0, 1.0), "must be a function"),
        (lambda: mp.Patch(hierarchy, -1.0), "at least 0"),
    ],
)
def test_what_cannot_be_used_is_refused(metric, message):
    with pytest.raises(mp.MetricError, match=message):
        metric().check(6)


@pytest.mark.parametrize("kernel", slow_but(["lmc", "nuts", "rmhmc", "mmala"]))
def test_every_kernel_runs(kernel):
    metric = mp.Patch(hierarchy, 0.8)
    make = {
        "lmc": lambda: mp.lmc(density, metric, 0.2, mp.Static(3)),
        "nuts": lambda: mp.lmc(density, metric, 0.2, mp.NUTS(3)),
        "rmhmc": lambda: mp.rmhmc(density, metric, 0.1, mp.Static(2)),
        "mmala": lambda: mp.mmala(density, metric, 0.3),
    }
    algorithm = make[kernel]()
    state = algorithm.init(jnp.full(6, 0.2))
    state, info = jax.jit(algorithm.step)(jax.random.key(0), state)
    assert np.isfinite(state.position).all()
    assert info.acceptance_rate > 0.3
