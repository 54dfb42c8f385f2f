"""Targets: densities, exact draws and marginals must be of one and the same distribution."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from problems import small_regression

import mongepatch as mp
from mongepatch.targets import logistic
from mongepatch.targets.truth import Normal, Tabulated

N = 400_000
KNOWN = {
    "funnel": mp.targets.funnel(2),
    "neal": mp.targets.neal_funnel(2, sd=1.0),
    "ring": mp.targets.ring(),
    "squiggle": mp.targets.squiggle(1.0),
    "rosenbrock": mp.targets.rosenbrock(3),
    "banana": mp.targets.banana(),
    "far banana": mp.targets.banana([40.0, 41.0]),
}


def draws_of(name):
    return KNOWN[name].truth.draw(jax.random.key(0), N)


@pytest.mark.parametrize("name", KNOWN)
def test_exact_draws_belong_to_the_density(name):
    """Stein's identities: E ∇ℓ = 0 and E xᵢ ∂ⱼℓ = −δᵢⱼ under the density itself, and under no other."""
    draws = np.asarray(draws_of(name))
    gradients = np.asarray(jax.jit(jax.vmap(jax.grad(KNOWN[name])))(draws))
    products = draws[:, :, None] * gradients[:, None, :] + np.eye(draws.shape[1])
    for values in (gradients, products):
        off = np.abs(values.mean(axis=0)) / (values.std(axis=0) / np.sqrt(N))
        assert off.max() < 4


@pytest.mark.parametrize("name", KNOWN)
def test_marginals_belong_to_the_draws(name):
    target, draws = KNOWN[name], draws_of(name)
    named = jax.vmap(target.layout.named)(draws)
    for parameter, marginal in target.truth.marginals.items():
        values = np.asarray(named[parameter])
        assert abs(values.mean() - marginal.mean) < 4 * marginal.sd / np.sqrt(N)
        probabilities = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
        below = (values[:, None] <= marginal.quantile(probabilities)).mean(axis=0)
        assert (np.abs(below - probabilities) < 4 * np.sqrt(probabilities * (1 - probabilities) / N)).all()
        np.testing.assert_allclose(marginal.cdf(marginal.quantile(probabilities)), probabilities, atol=1e-9)


def test_a_tabulated_normal_is_the_normal():
    grid = np.linspace(-9.0, 11.0, 20_001)
    table, normal = Tabulated.from_log_density(grid, -0.5 * (grid - 1.0) ** 2), Normal(1.0, 1.0)
    assert table.mean == pytest.approx(1.0, abs=1e-9)
    assert table.sd == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(table.cdf(grid[::500]), normal.cdf(grid[::500]), atol=1e-6)


@pytest.mark.parametrize("name", KNOWN)
def test_starting_points_are_dispersed_and_usable(name):
    target = KNOWN[name]
    starts = jax.vmap(target.start)(jax.random.split(jax.random.key(1), 50))
    assert starts.shape == (50, target.dimension)
    assert np.isfinite(jax.vmap(target)(starts)).all()
    assert (starts.std(axis=0) > 0).all()


def test_the_log_scale_is_the_last_coordinate_of_a_funnel():
    target = mp.targets.funnel(3)
    assert target.dimension == 4
    assert target.layout.named(jnp.arange(4.0))["a"] == 3
    # At a = 0 the x's have the variance log 2, not the standard deviation.
    x = jnp.array([0.5, -1.0, 0.2])
    expected = -0.5 * (x @ x / np.log(2.0) + 3 * np.log(np.log(2.0)))
    assert target(jnp.append(x, 0.0)) == pytest.approx(expected)


@pytest.mark.parametrize("entries", [1, 60, 10_000])
def test_logistic_regression_is_the_same_in_blocks_of_any_size(entries, monkeypatch):
    rng = np.random.default_rng(5)
    design, outcomes, beta = rng.normal(size=(103, 4)), rng.random(103) < 0.3, rng.normal(size=4)
    logits = design @ beta
    value = outcomes @ logits - np.logaddexp(0.0, logits).sum() - 0.5 * beta @ beta / 100.0
    gradient = design.T @ (outcomes - 1.0 / (1.0 + np.exp(-logits))) - beta / 100.0
    monkeypatch.setattr(logistic, "_ENTRIES", entries)
    target = mp.targets.logistic_regression(design, outcomes)
    assert str(jax.make_jaxpr(target.logdensity)(beta)).count("custom_jvp_call[") == {1: 64, 60: 7, 10_000: 1}[entries]
    found = jax.value_and_grad(target.logdensity)(jnp.asarray(beta))
    np.testing.assert_allclose(found[0], value, rtol=1e-12)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-10)


@pytest.mark.slow
def test_logistic_regression_agrees_with_quadrature():
    """Posterior means and standard deviations of an intercept and a slope, against a fine grid."""
    rng = np.random.default_rng(0)
    design = mp.targets.standardized_design(rng.normal(size=(40, 1)))
    outcomes = rng.random(40) < 1 / (1 + np.exp(-design @ [0.3, 1.2]))
    target = mp.targets.logistic_regression(design, outcomes, columns=["intercept", "slope"])
    axis = np.linspace(-4.0, 6.0, 501)
    grid = jnp.stack(jnp.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    logits = grid @ design.T
    log_posterior = (outcomes * logits - np.logaddexp(0, logits)).sum(axis=1) - 0.5 * (grid**2).sum(axis=1) / 100
    np.testing.assert_allclose(jax.vmap(target)(grid), log_posterior, rtol=1e-10)
    weights = np.exp(log_posterior - log_posterior.max())
    weights /= weights.sum()
    mean = weights @ np.asarray(grid)
    sd = np.sqrt(weights @ (np.asarray(grid) - mean) ** 2)
    tree = mp.sample(
        target, metric=mp.Monge(0.3), trajectory=mp.Static(8, jitter=0.5), step_size=0.15, chains=500, draws=200,
        warmup=100, progress=False,
    )  # fmt: skip
    beta = tree["posterior"]["beta"]
    assert list(beta.coords["column"].values) == ["intercept", "slope"]
    for statistic, expected in ((beta, mean), ((beta - mean) ** 2, sd**2)):
        of_chains = statistic.mean("draw").values
        errors = of_chains.std(axis=0, ddof=1) / np.sqrt(len(of_chains))
        assert (np.abs(of_chains.mean(axis=0) - expected) < 4 * errors).all()


def test_a_standardized_design_has_ones_and_unit_columns():
    features = np.random.default_rng(1).normal(3.0, 5.0, size=(20, 3))
    design = mp.targets.standardized_design(features)
    assert (design[:, 0] == 1).all()
    np.testing.assert_allclose(design[:, 1:].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(design[:, 1:].std(axis=0, ddof=1), 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mp.targets.funnel(0), "dimension must be at least 1"),
        (lambda: mp.targets.rosenbrock(1), "dimension must be at least 2"),
        (lambda: mp.targets.funnel(1, variance=-1.0), "variance must be above 0"),
        (lambda: mp.targets.neal_funnel(sd=0.0), "sd must be above 0"),
        (lambda: mp.targets.ring(variance="thin"), "variance must be a number"),
        (lambda: mp.targets.rosenbrock(b=float("nan")), "b must be finite"),
        (lambda: mp.targets.banana(prior_variance=0.0), "prior_variance must be above 0"),
        (lambda: mp.targets.logistic_regression(np.ones((2, 2)), [0, 1], prior_variance=-1), "prior_variance"),
        (lambda: mp.targets.squiggle(1.0, [[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: mp.targets.banana([]), "at least one number"),
        (lambda: mp.targets.logistic_regression(np.ones((3, 2)), [0, 1]), "design must be N × D"),
        (lambda: mp.targets.logistic_regression(np.ones((2, 2)), [0, 2]), "0 or 1"),
        (lambda: mp.targets.logistic_regression(np.full((2, 2), np.nan), [0, 1]), "not finite"),
        (lambda: mp.targets.logistic_regression(np.ones((2, 2)), [0, 1], columns=["a"]), "columns"),
        (lambda: mp.targets.standardized_design(np.ones((5, 2))), r"\[0, 1\] of features are constant"),
    ],
)
def test_targets_refuse_nonsense(make, message):
    with pytest.raises(mp.SettingError, match=message):
        make()


def test_a_target_is_a_log_density():
    target = small_regression()
    algorithm = mp.lmc(target, mp.Euclidean(), 0.1, mp.Static(2))
    assert algorithm.init(jnp.zeros(3)).logdensity == target(jnp.zeros(3))
    funnel = mp.targets.funnel(2)
    named = mp.lmc(funnel, mp.Euclidean(), 0.1, mp.Static(2)).init({"a": 1.0, "x": jnp.array([2.0, 3.0])})
    assert named.logdensity == funnel(jnp.array([2.0, 3.0, 1.0]))


def test_a_target_is_shown_in_one_line():
    target = mp.targets.funnel(3)
    assert repr(target) == "<Target from a density, dimension 4: x (3,), a (); without residuals>"
    assert "with residuals" in repr(target.with_residuals(lambda p: p["x"]))
    many = mp.Target.from_density(lambda p: 0.0, {f"b{i:02}": 0.0 for i in range(20)})
    assert "b11 (), and 8 more;" in repr(many)
