"""Metrics that are full matrices, against derivatives of the whole matrix taken in another way."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but
from problems import DENSITIES, curved, phase_points, relative_error, small_regression

import mongepatch as mp
from mongepatch.metrics import GaussNewtonFisher, hamiltonian

TOLERANCE = 1e-9
LENGTH = 0.1
DESIGN = np.random.default_rng(11).normal(size=(30, 3))


def growth(x):
    """Means of observations that depend on parameters in a curved way."""
    return jnp.exp(jnp.linspace(0.0, 1.0, 7) * x[0]) * jnp.sin(x[1]) + x[2:].sum() ** 2


def of_hessian(density, kappa):
    def G(x):
        eigenvalues, vectors = jnp.linalg.eigh(jax.hessian(density)(x))
        return (vectors * (eigenvalues / jnp.tanh(kappa * eigenvalues))) @ vectors.T

    return G


QUARTIC = DENSITIES["quartic"][0]
PRIOR = np.array([0.5, 1.0, 2.0, 0.7])
# A metric, the matrix that it should be, and a density.
CASES = {
    "dense": (mp.Dense(curved), curved, "quartic"),
    "fisher": (mp.Fisher(curved, PRIOR), lambda x: curved(x) + jnp.diag(PRIOR), "quartic"),
    "gaussian": (
        mp.Fisher.gaussian(growth, noise_sd=np.linspace(0.5, 2.0, 7), prior_precision=PRIOR),
        lambda x: (
            jax.jacfwd(growth)(x).T @ jnp.diag(np.linspace(0.5, 2.0, 7) ** -2) @ jax.jacfwd(growth)(x) + jnp.diag(PRIOR)
        ),
        "quartic",
    ),
    "gaussian, fewer observations": (
        mp.Fisher.gaussian(lambda x: growth(x)[:2], prior_precision=1.5),
        lambda x: jax.jacfwd(growth)(x)[:2].T @ jax.jacfwd(growth)(x)[:2] + 1.5 * jnp.eye(4),
        "quartic",
    ),
    "logistic": (
        mp.Fisher.logistic(DESIGN, prior_variance=4.0),
        lambda x: (DESIGN.T * jax.nn.sigmoid(DESIGN @ x) * jax.nn.sigmoid(-DESIGN @ x)) @ DESIGN + jnp.eye(3) / 4.0,
        "logistic",
    ),
    "softabs": (mp.SoftAbs(1.3), of_hessian(QUARTIC, 1.3), "quartic"),
    "softabs on a ridge": (mp.SoftAbs(0.5), of_hessian(DENSITIES["squiggle"][0], 0.5), "squiggle"),
}


def christoffel_lowered(G, x, v):
    """Ω̃ from the whole third-order array."""
    dG = jax.jacrev(G)(x)  # dG[i, j, l] = ∂ₗ Gᵢⱼ
    return 0.5 * (jnp.einsum("ijk,k->ij", dG, v) + jnp.einsum("ikj,k->ij", dG, v) - jnp.einsum("kji,k->ij", dG, v))


@functools.cache
def errors(case):
    metric, G, name = CASES[case]
    density = DENSITIES[name][0]
    positions, noises = phase_points(name)

    def compare(x, noise):
        point, slope = metric.at(density, x)
        v = metric.velocity_from_noise(point, noise)
        matrix, omega = G(x), christoffel_lowered(G, x, v)
        half_log_det, slope_of_it = jax.value_and_grad(lambda y: 0.5 * jnp.linalg.slogdet(G(y))[1])(x)
        root = jax.jacfwd(lambda z: metric.velocity_from_noise(point, z))(noise)
        bend = metric.bend(point, slope, v)
        kicked, bend_after, log_volume = metric.kick(point, slope, v, bend, LENGTH)
        back, _, volume_back = metric.kick(point, slope, kicked, bend_after, -LENGTH)

        def kick(v):
            return metric.kick(point, slope, v, metric.bend(point, slope, v), LENGTH)[0]

        def energy(y):  # the Hamiltonian at fixed momentum
            p = matrix @ v
            return -density(y) + 0.5 * jnp.linalg.slogdet(G(y))[1] + 0.5 * p @ jnp.linalg.solve(G(y), p)

        force = jax.grad(density)(x) - slope_of_it
        result = {
            "matrix": (point.matrix, matrix),
            "log det": (metric.log_det(point), 2 * half_log_det),
            "momentum": (metric.momentum(point, noise), matrix @ noise),
            "velocity": (metric.velocity(point, noise), jnp.linalg.solve(matrix, noise)),
            "velocity covariance": (root @ root.T, jnp.linalg.inv(matrix)),
            "hamiltonian": (hamiltonian(metric, point, v), 0.5 * v @ matrix @ v - density(x) + half_log_det),
            "gradient of log det": (slope.log_det, slope_of_it),
            "omega": (bend.change, omega),
            "kick": (kicked, jnp.linalg.solve(matrix + LENGTH * omega, matrix @ v + LENGTH * force)),
            "log-volume": (log_volume, jnp.linalg.slogdet(jax.jacfwd(kick)(v))[1]),
            "kick back": (back, v),
            "volume back": (log_volume + volume_back, 0.0),
            "force": (metric.force(point, slope, v), -jax.grad(energy)(x)),
        }
        return {key: relative_error(value, reference) for key, (value, reference) in result.items()}

    return jax.jit(jax.vmap(compare))(positions, noises)


@pytest.mark.parametrize("case", slow_but(CASES, "dense", "softabs on a ridge"))
def test_dense_metrics_agree_with_automatic_differentiation(case):
    worst = {quantity: float(error.max()) for quantity, error in errors(case).items()}
    assert max(worst.values()) < TOLERANCE, worst


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_the_force_of_closed_forms_is_the_derivative_of_the_hamiltonian(alpha):
    density, metric = QUARTIC, mp.Monge(alpha, [0.5, 1.0, 2.0, 1.5])

    @jax.jit
    def compare(x, noise):
        point, slope = metric.at(density, x)
        v = metric.velocity_from_noise(point, noise)
        p = metric.momentum(point, v)

        def energy(y):
            there, _ = metric.at(density, y)
            return -density(y) + 0.5 * metric.log_det(there) + 0.5 * p @ metric.velocity(there, p)

        return relative_error(metric.force(point, slope, v), -jax.grad(energy)(x))

    assert compare(*(values[0] for values in phase_points("quartic"))) < 1e-10


def test_monge_as_a_dense_metric_is_monge():
    density, alpha = QUARTIC, 0.6
    x, v = (values[0] for values in phase_points("quartic"))

    def G(x):
        g = jax.grad(density)(x)
        return jnp.eye(x.size) + alpha**2 * jnp.outer(g, g)

    for scheme in ("merged", "paper"):
        paths = [
            mp.integrate(density, metric, x, v, 0.05, 6, integrator=mp.integrators.Lagrangian(scheme))
            for metric in (mp.Monge(alpha), mp.Dense(G))
        ]
        for closed, dense in zip(*paths, strict=True):
            np.testing.assert_allclose(dense, closed, rtol=1e-8, atol=1e-10)


def test_softabs_has_derivatives_where_eigenvalues_tie():
    """All eigenvalues are equal at 0: the derivatives of eigenvectors do not exist there, those of the metric do."""

    def density(x):
        return -0.5 * x @ x - 0.25 * (x**2).sum() ** 2 - 0.1 * x[0] ** 3

    metric, step = mp.SoftAbs(2.0), 1e-5

    @jax.jit
    def compare(x, v):
        def G(x):
            return metric.at(density, x)[0].matrix

        def along(direction):
            return (G(x + step * direction) - G(x - step * direction)) / (2 * step)

        point, slope = metric.at(density, x)
        changes = jax.vmap(along)(jnp.concatenate([v[None], jnp.eye(3)]))
        columns = changes[1:] @ v
        return metric.bend(point, slope, v).change, 0.5 * (changes[0] + columns.T - columns)

    omega, expected = compare(jnp.zeros(3), jnp.array([0.4, -0.3, 0.8]))
    assert np.isfinite(omega).all()
    np.testing.assert_allclose(omega, expected, atol=1e-7)


def test_softabs_keeps_large_eigenvalues_and_lifts_small_ones():
    metric = mp.SoftAbs(100.0)
    density = lambda x: -0.5 * (3.0 * x[0] ** 2 - 2.0 * x[1] ** 2 + 0.0 * x[2] ** 2)  # noqa: E731
    point, _ = metric.at(density, jnp.zeros(3))
    np.testing.assert_allclose(point.matrix, np.diag([3.0, 2.0, 0.01]), atol=1e-12)


def test_logistic_information_survives_huge_logits():
    metric = mp.Fisher.logistic(np.eye(2) * 1e4)

    @jax.jit
    def look(x, v):
        point, slope = metric.at(lambda x: -0.5 * x @ x, x)
        return point.matrix, metric.bend(point, slope, v).change

    for matrix in look(jnp.array([3.0, -3.0]), jnp.ones(2)):
        assert np.isfinite(matrix).all()


@pytest.mark.usefixtures("optimized")  # it is the memory of what users run
def test_no_third_order_array_is_kept():
    """At D = 300 a D × D × D array would take 216 MB."""
    dimension = 300
    weights = jnp.linspace(0.5, 1.5, dimension)

    def G(x):
        return jnp.diag(1.0 + weights * x**2) + 0.1 * jnp.outer(jnp.sin(x), jnp.sin(x))

    for metric in (mp.Dense(G), GaussNewtonFisher(lambda x: jnp.sin(jnp.cumsum(x)), 1.0)):

        def kick(x, v, metric=metric):
            point, slope = metric.at(lambda x: -0.5 * x @ x, x)
            return metric.kick(point, slope, v, metric.bend(point, slope, v), 0.1)

        memory = jax.jit(kick).lower(jnp.zeros(dimension), jnp.ones(dimension)).compile().memory_analysis()
        assert memory.temp_size_in_bytes < 40 * 8 * dimension**2


def test_ready_made_fisher_metrics_are_the_expected_information():
    """Averaged over data from the model, the outer product of scores is the information."""
    regression = small_regression()
    x = jnp.array([0.3, -0.2, 0.5])
    key = jax.random.key(0)
    design = np.column_stack([np.ones(30), DESIGN[:, :2]])
    outcomes = jax.random.bernoulli(key, jax.nn.sigmoid(design @ x), (200_000, 30))

    def score(y):
        return jax.grad(lambda b: y @ (design @ b) - jax.nn.softplus(design @ b).sum())(x)

    scores = jax.jit(jax.vmap(score))(outcomes.astype(float))
    expected = np.asarray(scores.T @ scores / len(scores)) + np.eye(3) / 100.0
    point, _ = mp.Fisher.logistic(design).at(regression, x)
    np.testing.assert_allclose(point.matrix, expected, atol=0.05)


@pytest.mark.parametrize("target", [mp.targets.funnel(3), mp.targets.neal_funnel(2)], ids=["funnel", "neal"])
def test_the_information_of_a_funnel_is_the_expected_hessian(target):
    """Given the neck, minus the Hessian averaged over x is the information, the neck's own prior included."""
    draws = target.truth.draw(jax.random.key(1), 200_000)
    neck = 0.7
    scale = jnp.sqrt(1.0 / target.information(jnp.append(jnp.zeros(draws.shape[1] - 1), neck))[0, 0])
    x = scale * jax.random.normal(jax.random.key(2), (200_000, draws.shape[1] - 1))
    positions = jnp.column_stack([x, jnp.full(len(x), neck)])
    hessians = jax.jit(jax.vmap(jax.hessian(target.logdensity)))(positions)
    np.testing.assert_allclose(target.information(positions[0]), -hessians.mean(axis=0), atol=0.03)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mp.Dense(3.0), "metric_fn must be a function"),
        (lambda: mp.SoftAbs(-1.0), "kappa must be above 0"),
        (lambda: mp.Fisher(curved, np.ones((2, 2, 2))), "prior_precision must be one number"),
        (lambda: mp.Fisher(curved, [-1.0, 1.0]), "not negative"),
        (lambda: mp.Fisher(curved, [[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (lambda: mp.Fisher(curved, [[1.0, 0.0], [0.0, -1.0]]), "negative eigenvalues"),
        (lambda: mp.Fisher.gaussian(growth, noise_sd="a"), "noise_sd must be numbers"),
        (lambda: mp.Fisher.logistic("abc"), "design must be a matrix"),
        (lambda: mp.Fisher.gaussian(growth, noise_sd=0.0), "noise_sd must be above 0"),
        (lambda: mp.Fisher.gaussian(1.0), "mean must be a function"),
        (lambda: mp.Fisher.logistic(np.ones(3)), "design must be an N × D matrix"),
    ],
)
def test_bad_settings_of_metrics_are_refused(make, message):
    with pytest.raises(mp.MetricError, match=message):
        make()


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (mp.Dense(lambda x: jnp.eye(3)), "must return a matrix of shape \\(2, 2\\)"),
        (mp.Dense(lambda x: x["a"]), "metric_fn failed at a flat vector of 2 parameters"),
        (mp.Dense(lambda x: (x, x)), "must return one array"),
        (mp.Fisher(lambda x: jnp.eye(2), np.ones(3)), "prior_precision has shape"),
        (mp.Fisher.logistic(np.ones((5, 3))), "mean failed at a flat vector of 2 parameters"),
    ],
)
def test_metrics_that_do_not_fit_are_refused(metric, message):
    with pytest.raises(mp.MetricError, match=message):
        mp.sample(lambda x: -0.5 * x @ x, jnp.zeros(2), metric=metric, trajectory=mp.Static(2), step_size=0.1)


def test_a_metric_that_is_not_positive_definite_is_told_at_the_door():
    with pytest.raises(mp.MetricError, match="metric is not positive definite"):
        mp.lmc(lambda x: -0.5 * x @ x, mp.Dense(lambda x: -jnp.eye(2)), 0.1, mp.Static(2)).init(jnp.zeros(2))
    with pytest.raises(mp.MetricError, match="metric is not positive definite"):
        mp.sample(
            lambda x: -0.5 * x @ x,
            jnp.zeros(2),
            metric=mp.Dense(lambda x: -jnp.eye(2)),
            trajectory=mp.Static(2),
            step_size=0.1,
        )


def test_data_behind_a_metric_are_seen_when_they_change():
    """The function is the same object; what it closes over is not."""
    scale = {"value": jnp.eye(2)}
    metric = mp.Dense(lambda x: scale["value"])

    def spread():
        path = mp.integrate(lambda x: -0.5 * x @ x, metric, jnp.zeros(2), jnp.ones(2), 0.1, 3)
        return path.energy[0]

    first = spread()
    scale["value"] = 4.0 * jnp.eye(2)
    assert spread() != first


def test_of_a_matrix_that_is_not_symmetric_the_symmetric_part_is_used():
    """Everything must mean the same G: a slip of the pen makes another metric, never a biased sampler."""

    def slip(x):
        return jnp.array([[1.0, 0.9 * jnp.tanh(x[1])], [0.0, 1.0]])

    x, v = jnp.array([0.3, 0.8]), jnp.array([1.0, -0.5])
    paths = [
        mp.integrate(lambda x: -0.5 * x @ x, metric, x, v, 0.2, 4)
        for metric in (mp.Dense(slip), mp.Dense(lambda x: 0.5 * (slip(x) + slip(x).T)), mp.Fisher(slip))
    ]
    for other in paths[1:]:
        for left, right in zip(paths[0], other, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12)


@pytest.mark.parametrize(
    "metric",
    [
        mp.Dense(lambda x: jnp.diag(jnp.array([1.0, 2.0]))),
        mp.Dense(lambda x: jnp.eye(2, dtype=int)),
        mp.Fisher(lambda x: jnp.eye(2) * (1.0 + x[0] ** 2), 1.0),
        mp.Fisher.logistic(np.ones((3, 2))),
        mp.Fisher.gaussian(lambda x: x**2, noise_sd=np.array([1.0, 2.0]), prior_precision=1.0),
    ],
    ids=["dense", "integers", "fisher", "logistic", "gaussian"],
)
@pytest.mark.parametrize("kernel", slow_but(["lmc", "rmhmc"], "lmc"))
def test_functions_in_double_precision_serve_positions_in_single(metric, kernel):
    algorithm = {"lmc": mp.lmc, "rmhmc": mp.rmhmc}[kernel](lambda x: -0.5 * x @ x, metric, 0.1, mp.Static(2))
    state, info = jax.jit(algorithm.step)(jax.random.key(0), algorithm.init(jnp.ones(2, jnp.float32)))
    assert state.position.dtype == info.energy.dtype == jnp.float32
    assert info.failure == mp.Failure.NONE
