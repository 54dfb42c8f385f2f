"""The base metric that warm-up finds."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import sample_quietly

import mongepatch as mp
from mongepatch.integrators import Lagrangian, Phase
from mongepatch.metrics import for_many_steps
from mongepatch.metrics.low_rank import LowRank
from mongepatch.warmup import choose_metric
from mongepatch.warmup.inverse_mass import estimate, initial_inverse_mass, is_nearly_normal

RNG = np.random.default_rng(0)


def covariance(dimension, condition):
    axes, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(dimension, dimension)))
    return (axes * np.geomspace(1.0, condition, dimension)) @ axes.T


def matrix(mass, dimension):
    return np.asarray(jax.vmap(mass.apply)(jnp.eye(dimension)))


def whitened_condition(mass, sigma):
    root = np.asarray(jax.vmap(mass.root)(jnp.eye(len(sigma)))).T
    inverse = np.linalg.inv(root)
    eigenvalues = np.linalg.eigvalsh(inverse @ sigma @ inverse.T)
    return eigenvalues[-1] / eigenvalues[0]


def base_of(*arguments):
    return estimate(*arguments).inverse_mass


def room(dimension, structure="auto"):
    return initial_inverse_mass(dimension, structure, from_variances=False)


@pytest.mark.parametrize("dimension", [5, 40])
@pytest.mark.parametrize("rank", [0, 3])
def test_low_rank_is_the_matrix_that_it_says(dimension, rank):
    scale = jnp.asarray(RNG.uniform(0.5, 2.0, dimension))
    directions = np.zeros((dimension, 4))
    directions[:, :rank] = np.linalg.qr(RNG.normal(size=(dimension, rank)))[0]
    eigenvalues = np.ones(4)
    eigenvalues[:rank] = RNG.uniform(0.1, 10.0, rank)
    mass = LowRank(scale, jnp.asarray(directions), jnp.asarray(eigenvalues))
    whole = (
        np.asarray(scale)[:, None]
        * (np.eye(dimension) + (directions * (eigenvalues - 1)) @ directions.T)
        * np.asarray(scale)
    )
    v = jnp.asarray(RNG.normal(size=dimension))
    np.testing.assert_allclose(mass.apply(v), whole @ v, rtol=1e-12)
    np.testing.assert_allclose(mass.solve(v), np.linalg.solve(whole, v), rtol=1e-10)
    np.testing.assert_allclose(mass.root(mass.root_transposed(v)), whole @ v, rtol=1e-12)
    np.testing.assert_allclose(mass.log_det_mass(), -np.linalg.slogdet(whole)[1], rtol=1e-12)


def test_a_step_of_a_few_parameters_makes_one_product_with_a_low_rank():
    mass = LowRank(jnp.ones(5), jnp.eye(5), jnp.full(5, 2.0))
    for product in (mass.apply, mass.solve, mass.root, mass.root_transposed):
        linear = jax.linearize(product, jnp.ones(5))[1]  # all else is computed once, whatever the vector is
        assert str(jax.make_jaxpr(linear)(jnp.ones(5))).count("dot_general[") == 1


@pytest.mark.parametrize("dimension", [5, 40])
def test_matrices_of_a_low_rank_make_the_same_products(dimension):
    scale, eigenvalues = jnp.asarray(RNG.uniform(0.5, 2.0, dimension)), jnp.asarray(RNG.uniform(0.1, 10.0, 3))
    mass = LowRank(scale, jnp.asarray(np.linalg.qr(RNG.normal(size=(dimension, 3)))[0]), eigenvalues)
    made, v = mass.as_matrices(), jnp.asarray(RNG.normal(size=dimension))
    assert (made is mass) == (dimension > 32)
    for name in ("apply", "solve", "root", "root_transposed"):
        np.testing.assert_allclose(getattr(made, name)(v), getattr(mass, name)(v), rtol=1e-14, atol=1e-14)
    assert made.log_det_mass() == mass.log_det_mass()


def test_both_kicks_at_a_point_of_a_loop_share_one_product():
    def density(x):
        return -(x**4).sum()

    def products(prepare):
        """Products with vectors of four chains in the compiled loop over steps."""

        def run(metric, x, count):
            metric, integrator, step_size = prepare(metric), Lagrangian(), jnp.asarray(0.1)

            def advance(_, node):
                return integrator.advance(density, metric, node, step_size)

            start = integrator.depart(density, metric, Phase.start(metric.at(density, x)[0], x), step_size)
            return jax.lax.fori_loop(0, count, advance, start)

        base = LowRank(jnp.ones(5), jnp.eye(5), jnp.full(5, 2.0))
        metric = mp.Euclidean(base, jnp.zeros(5))
        of_chains = jax.jit(jax.vmap(run, (None, 0, None)))
        compiled = of_chains.lower(metric, jnp.ones((4, 5)), 3).compile().as_text()
        return len(re.findall(r"\[(?:4,5|5,4)\]\S* dot\(", compiled))

    assert products(for_many_steps) == 2 < products(lambda metric: metric)  # one to depart, and one for each step


def test_low_rank_serves_the_monge_metric_like_the_matrix():
    sigma = covariance(3, 10.0)
    draws = RNG.multivariate_normal(np.zeros(3), sigma, size=(4, 500))
    mass = base_of(draws, -draws @ np.linalg.inv(sigma), room(3), "dense")
    paths = [
        mp.integrate(lambda x: -0.25 * (x**4).sum(), mp.Monge(0.7, base), jnp.ones(3), jnp.ones(3), 0.1, 5)
        for base in (mass, matrix(mass, 3))
    ]
    np.testing.assert_allclose(paths[0].position, paths[1].position, rtol=1e-9)
    np.testing.assert_allclose(np.diff(paths[0].energy), np.diff(paths[1].energy), atol=1e-9)


@pytest.mark.parametrize("where", [0.0, 100.0])
def test_a_normal_density_is_known_from_few_draws_anywhere(where):
    sigma = covariance(20, 1e4)
    draws = RNG.multivariate_normal(np.full(20, where), sigma / 100, size=(4, 40))  # a tenth of the spread
    mass = base_of(draws, -draws @ np.linalg.inv(sigma), room(20), "auto")
    assert whitened_condition(mass, sigma) < 3.0
    assert np.trace(matrix(mass, 20)) == pytest.approx(np.trace(sigma), rel=0.3)  # and no hundredth of it


@pytest.mark.parametrize("structure", ["auto", "diagonal", "dense"])
def test_the_center_of_a_normal_density_is_known_from_few_draws_anywhere(structure):
    rng = np.random.default_rng(5)
    center = np.array([3.0, -70.0, 0.1])
    draws = rng.normal([10.0, 10.0, 10.0], [0.1, 5.0, 1.0], size=(4, 20, 3))  # far from it
    precision = np.array([4.0, 0.01, 1.0])
    found = estimate(draws, -(draws - center) * precision, room(3, structure), structure)
    np.testing.assert_allclose(found.center, center, rtol=1e-2 if structure == "diagonal" else 2e-2)
    still = np.ones((4, 20, 3))
    assert estimate(still, still, room(3), "auto").center is None


def test_structure_is_chosen_by_what_holds_on_other_draws():
    independent = RNG.standard_t(5, size=(4, 15, 60))
    slopes = -6 * independent / (5 + independent**2)
    assert (np.asarray(base_of(independent, slopes, room(60), "auto").eigenvalues) == 1).all()
    sigma = covariance(60, 100.0)
    draws = RNG.multivariate_normal(np.zeros(60), sigma, size=(4, 200))
    mass = base_of(draws, -draws @ np.linalg.inv(sigma), room(60), "auto")
    assert (np.asarray(mass.eigenvalues) != 1).sum() == 60
    assert (np.asarray(base_of(draws, -draws, room(60, "diagonal"), "diagonal").eigenvalues) == 1).all()


@pytest.mark.parametrize("draws", [3, 10, 30])
@pytest.mark.parametrize("dimension", [50, 300])
def test_few_draws_make_no_wild_metric(draws, dimension):
    values = RNG.standard_t(3, size=(4, draws, dimension))
    slopes = -4 * values / (3 + values**2)
    eigenvalues = np.linalg.eigvalsh(matrix(base_of(values, slopes, room(dimension), "auto"), dimension))
    assert eigenvalues.min() > 1e-3
    assert eigenvalues.max() < 1e3


def test_a_visit_to_a_steep_corner_does_not_decide():
    draws = RNG.normal(size=(4, 250, 2))
    slopes = -draws.copy()
    slopes[0, :5] *= 1e4
    np.testing.assert_allclose(matrix(base_of(draws, slopes, room(2), "auto"), 2), np.eye(2), atol=0.35)


def test_chains_that_stand_still_or_break_teach_nothing():
    before = room(2)
    still = np.ones((4, 50, 2))
    assert base_of(still, still, before, "auto") is before
    assert base_of(np.full((4, 50, 2), np.nan), still, before, "auto") is before


def test_a_chain_that_stands_still_for_most_of_its_draws():
    draws = RNG.normal(size=(1, 30, 2))
    draws[0, 5:25] = draws[0, 5]
    mass = base_of(draws, -draws, room(2), "auto")
    assert np.linalg.eigvalsh(matrix(mass, 2)).min() > 0.01


@pytest.mark.parametrize("structure", ["auto", "dense", "diagonal"])
def test_a_gradient_that_does_not_vary_leaves_its_scale(structure):
    draws = RNG.normal(size=(4, 20, 2))
    slopes = np.stack([-draws[..., 0] / 4, -np.ones((4, 20))], axis=-1)
    mass = base_of(draws, slopes, room(2, structure), structure)
    np.testing.assert_allclose(np.asarray(mass.scale), [2.0, 1.0], rtol=0.1)
    assert np.isfinite(np.asarray(mass.eigenvalues)).all()


def test_thinning_looks_at_every_chain():
    draws = np.zeros((16, 1000, 1)) + np.arange(16)[:, None, None] + 0.01 * RNG.normal(size=(16, 1000, 1))
    mass = base_of(draws, -(draws - 7.5) / 21.0, room(1), "diagonal")
    assert float(mass.scale[0]) == pytest.approx(21.0**0.5, rel=0.02)


def test_directions_are_limited_in_many_dimensions():
    def capacity(dimension, structure):
        return initial_inverse_mass(dimension, structure, from_variances=False).eigenvalues.size

    assert capacity(1000, "auto") < 100
    assert capacity(100, "auto") == 100
    assert capacity(1000, "dense") == 1000
    assert capacity(5, "diagonal") == 0


def test_a_density_is_nearly_normal_where_gradients_are_those_of_a_normal_one():
    rng = np.random.default_rng(0)
    sigma = covariance(5, 100.0)
    precision, center = np.linalg.inv(sigma), np.arange(5.0)
    draws = rng.multivariate_normal(center, sigma, size=600)
    slopes = -(draws - center) @ precision
    found = estimate(draws[None], slopes[None], room(5), "auto")
    metric = mp.Euclidean(found.inverse_mass, found.center)
    assert is_nearly_normal(metric, draws, slopes)
    assert not is_nearly_normal(mp.Euclidean(found.inverse_mass, found.center + 10.0), draws, slopes)
    stiff = slopes - 4.0 * np.where(draws > center + np.sqrt(np.diag(sigma)), (draws - center) / np.diag(sigma), 0.0)
    assert not is_nearly_normal(metric, draws, stiff)  # a sixth of the draws, in each coordinate, lies in a steep place
    for other in (mp.Euclidean(found.inverse_mass), mp.Euclidean(None, found.center), mp.Monge(1.0)):
        assert not is_nearly_normal(other, draws, slopes)  # nothing is known


def test_curvature_is_not_looked_at_where_a_density_is_nearly_normal(monkeypatch):
    """Models with residuals look for steep places, unless gradients say that there are none."""
    looked = []
    real = choose_metric.curvature_of
    monkeypatch.setattr(choose_metric, "curvature_of", lambda *a, **k: looked.append(1) or real(*a, **k))

    def target(power):
        return mp.Target.from_density(lambda x: -(x**power).sum(), jnp.ones(3)).with_residuals(lambda x: x)

    for power, looks in ((2, False), (4, True)):
        looked.clear()
        sample_quietly(target(power), jnp.ones(3), warmup=300, draws=10, progress=False, whiten=False)
        assert bool(looked) is looks


def test_a_constant_gradient_says_nothing_of_scale():
    """As of an exponential density, or of a Laplace one on most draws: M⁻¹ stays finite, and nothing overflows."""
    rng = np.random.default_rng(3)
    draws = np.stack([rng.exponential(size=(4, 100)), 3.0 * rng.normal(size=(4, 100))], axis=-1)
    slopes = np.stack([np.full((4, 100), -1.0), -draws[..., 1] / 9.0], axis=-1)
    mostly = np.where(draws[..., :1] > 0.1, -1.0, 1.0)
    with np.errstate(all="raise", under="ignore"):
        alone = base_of(draws[..., :1], slopes[..., :1], room(1), "auto")
        base_of(draws[..., :1], mostly, room(1), "auto")
        both = base_of(draws, slopes, room(2), "auto")
    np.testing.assert_allclose(matrix(alone, 1), 1.0)
    np.testing.assert_allclose(np.diag(matrix(both, 2)), [1.0, 9.0], rtol=0.5)
