"""What data says about inner coordinates: exact for normal data, averages for other data."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from hierarchies import EXAMPLE, dense, exact_draws, grouped_data, groups, information_at, prior, residuals, whitening

import mongepatch as mp

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(7, 3)), RNG.normal(size=7)


def regression(scale=None, mean_scale=1.0):
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1)) if scale is None else scale
    beta = numpyro.sample("beta", dist.Normal(0, tau).expand([3]).to_event(1))
    numpyro.sample("y", dist.Normal(X @ beta * mean_scale, sigma), obs=Y)


def random_positions(target, seed, scale=1.0, count=20):
    return scale * np.random.default_rng(seed).normal(size=(count, target.dimension))


@pytest.mark.parametrize("seed", range(3))
def test_normal_data_have_the_same_information_at_any_draws(seed):
    target = mp.from_numpyro(regression)
    found = whitening(target)
    information = information_at(found, random_positions(target, seed, scale=1.0 + seed))
    np.testing.assert_allclose(dense(found.initial.plan, information.matrix[0]), X.T @ X, rtol=1e-8)
    np.testing.assert_allclose(information.vector[0], X.T @ Y, rtol=1e-7, atol=1e-9)


def test_known_scales_are_divided_out_too():
    target = mp.from_numpyro(regression, 0.5)
    found = whitening(target)
    plan, information = found.initial.plan, information_at(found, random_positions(target, 0))
    precision = np.asarray(found.data.precisions(jnp.zeros(target.dimension)))
    assert precision == pytest.approx(4.0)
    np.testing.assert_allclose(precision * dense(plan, information.matrix[0]), 4.0 * X.T @ X, rtol=1e-8)
    np.testing.assert_allclose(precision * information.vector[0], 4.0 * X.T @ Y, rtol=1e-7, atol=1e-9)


def several_scales():
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    beta = numpyro.sample("beta", dist.Normal(0, tau).expand([3]).to_event(1))
    numpyro.sample("y", dist.Normal(X @ beta, np.arange(1.0, 8.0)), obs=Y)


def test_data_with_many_scales_are_weighted():
    target = mp.from_numpyro(several_scales)
    found = whitening(target)
    information = information_at(found, random_positions(target, 0))
    weights = np.diag(np.arange(1.0, 8.0) ** -2)
    np.testing.assert_allclose(dense(found.initial.plan, information.matrix[0]), X.T @ weights @ X, rtol=1e-8)
    np.testing.assert_allclose(information.vector[0], X.T @ weights @ Y, rtol=1e-7, atol=1e-9)


def test_every_observed_variable_has_its_own():
    def two(y):
        tau = numpyro.sample("tau", dist.HalfNormal(1))
        beta = numpyro.sample("beta", dist.Normal(0, tau).expand([3]).to_event(1))
        for name, rows in (("few", slice(0, 3)), ("many", slice(3, 7))):
            sigma = numpyro.sample(f"sigma_{name}", dist.HalfNormal(1))
            numpyro.sample(name, dist.Normal(X[rows] @ beta, sigma), obs=y[rows])

    target = mp.from_numpyro(two, Y)
    found = whitening(target)
    information = information_at(found, random_positions(target, 0))
    for number, rows in enumerate((slice(0, 3), slice(3, 7))):
        expected = X[rows].T @ X[rows]
        np.testing.assert_allclose(dense(found.initial.plan, information.matrix[number]), expected, rtol=1e-8)
        np.testing.assert_allclose(information.vector[number], X[rows].T @ Y[rows], rtol=1e-7, atol=1e-9)


def test_of_groups_only_those_with_data_have_some():
    group, y = grouped_data([3, 1, 5])
    target = mp.from_numpyro(groups, group, y)
    found = whitening(target)
    plan, information = found.initial.plan, information_at(found, random_positions(target, 1))
    of_name = target.layout.named(np.arange(target.dimension))
    order = [list(plan.inner).index(place) for place in (of_name["mu"], *of_name["theta"])]
    matrix = dense(plan, information.matrix[0])[np.ix_(order, order)]
    np.testing.assert_allclose(matrix, np.diag([0.0, 3.0, 1.0, 5.0]), atol=1e-8)
    sums = [0.0, *np.bincount(group, weights=y)]
    np.testing.assert_allclose(np.asarray(information.vector[0])[order], sums, atol=1e-8)


def test_counts_have_averages_of_their_information():
    def model(y):
        tau = numpyro.sample("tau", dist.HalfNormal(1))
        beta = numpyro.sample("beta", dist.Normal(0, tau).expand([3]).to_event(1))
        numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=y)

    target = mp.from_numpyro(model, Y > 0)
    found = whitening(target)
    plan = found.initial.plan
    positions = random_positions(target, 2, count=64)
    information = information_at(found, positions)
    matrices, vectors = [], []
    for position in positions:
        beta = position[plan.inner]
        probability = 1 / (1 + np.exp(-X @ beta))
        jacobian = jax.jacfwd(found.data.residuals)(jnp.asarray(position))[:, plan.inner]
        matrices.append(jacobian.T @ jacobian)
        vectors.append(matrices[-1] @ beta + X.T @ ((Y > 0) - probability))
        np.testing.assert_allclose(matrices[-1], (X.T * (probability * (1 - probability))) @ X, rtol=1e-6)
    np.testing.assert_allclose(dense(plan, information.matrix[0]), np.mean(matrices, axis=0), rtol=1e-8)
    np.testing.assert_allclose(information.vector[0], np.mean(vectors, axis=0), rtol=1e-8, atol=1e-9)


def test_information_of_many_coupled_coordinates_counts_one_by_one():
    """The mean that it implies, b = Aθ + ∇ log p, is with the same A, or it would be far from the draws."""

    def model():
        tau = numpyro.sample("tau", dist.HalfNormal(1).expand([20]).to_event(1))
        beta = numpyro.sample("beta", dist.Normal(0, tau).to_event(1))
        numpyro.sample("y", dist.Normal(design @ beta, 1.0), obs=design[:, 0])

    design = np.random.default_rng(5).normal(size=(30, 20)) + 1.0
    target = mp.from_numpyro(model)
    found = whitening(target)
    plan = found.initial.plan
    assert not plan.couples_data
    positions = random_positions(target, 3, count=64)
    information = information_at(found, positions)
    squares, beta = (design**2).sum(axis=0), np.asarray(positions)[:, plan.inner].mean(axis=0)
    np.testing.assert_allclose(dense(plan, information.matrix[0]), np.diag(squares), atol=1e-8)
    slopes = design.T @ (design[:, 0] - design @ beta)
    np.testing.assert_allclose(information.vector[0], squares * beta + slopes, rtol=1e-8)


OBSERVED, ERRORS = np.array([0.3, -1.0, 2.0, 0.7]), np.array([0.5, 1.0, 2.0, 4.0])


def without_data_residuals():
    """The hierarchy with normal data, of which only the log density knows."""

    def density(p):
        return prior(p) - 0.5 * (((OBSERVED - p["theta"]) / ERRORS) ** 2).sum()

    return mp.Target.from_density(density, EXAMPLE).with_residuals(residuals)


def test_data_without_residuals_are_known_by_their_slopes():
    found = whitening(without_data_residuals())
    plan, information = found.initial.plan, information_at(found, exact_draws(jax.random.key(0), 64))
    assert plan.inner.tolist() == [0, 1, 2, 3, 4]  # mu and theta
    matrix = dense(plan, information.matrix[0])
    np.testing.assert_allclose(matrix, np.diag([0.0, *ERRORS**-2]), atol=1e-8)
    np.testing.assert_allclose(information.vector[0], [0.0, *(OBSERVED / ERRORS**2)], atol=1e-8)


def test_second_derivatives_of_data_without_residuals_are_averaged():
    counts = np.arange(4.0)

    def density(p):  # counts ~ Poisson(exp(θ)): −∇² is exp(θ)
        return prior(p) + (counts * p["theta"] - jnp.exp(p["theta"])).sum()

    found = whitening(mp.Target.from_density(density, EXAMPLE).with_residuals(residuals))
    positions = exact_draws(jax.random.key(0), 64)
    information = information_at(found, positions)
    expected = np.exp(np.asarray(positions)[:, 1:5]).mean(axis=0)
    np.testing.assert_allclose(np.diag(dense(found.initial.plan, information.matrix[0]))[1:], expected, rtol=1e-8)


def test_information_of_slopes_is_never_negative():
    def density(p):  # a likelihood that is not log-concave anywhere
        return prior(p) + 0.05 * (p["theta"] ** 2).sum()

    found = whitening(mp.Target.from_density(density, EXAMPLE).with_residuals(residuals))
    information = information_at(found, exact_draws(jax.random.key(0), 64))
    assert (np.asarray(information.matrix) >= 0).all()
    assert np.isfinite(information.vector).all()


def test_too_few_draws_with_finite_terms_give_none():
    target = mp.from_numpyro(regression)
    positions = random_positions(target, 0)
    positions[2:] = np.nan
    assert information_at(whitening(target), positions) is None
