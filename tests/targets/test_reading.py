"""Residuals that are read off a bare density serve as those of a model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats import mcse
from helpers import sample_quietly
from jax.scipy.stats import norm
from scipy import stats

import mongepatch as mp
from mongepatch.coordinates import whitening_of
from mongepatch.targets.reading import with_read_residuals

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
GROUP = np.repeat(np.arange(100), 5)
Y = np.random.default_rng(0).normal(np.random.default_rng(1).normal(0.5, 0.3, size=100)[GROUP])


def readme(p):
    return -0.5 * ((0.3 - p["theta"]) ** 2 + p["theta"] ** 2 / jnp.exp(p["v"]) + p["v"] + p["v"] ** 2 / 9)


def schools(p):
    tau = jnp.exp(p["log_tau"])
    prior = norm.logpdf(p["mu"], 0, 5) + p["log_tau"] - jnp.log1p((tau / 5) ** 2)
    return prior + norm.logpdf(p["theta"], p["mu"], tau).sum() + norm.logpdf(EFFECTS, p["theta"], ERRORS).sum()


def groups(p):
    prior = norm.logpdf(p["mu"], 0, 1) + norm.logpdf(p["log_tau"], -1, 1) + norm.logpdf(p["log_sigma"], 0, 1)
    effects = norm.logpdf(p["theta"], p["mu"], jnp.exp(p["log_tau"])).sum()
    return prior + effects + norm.logpdf(Y, p["theta"][GROUP], jnp.exp(p["log_sigma"])).sum()


DESIGN = np.random.default_rng(2).normal(size=(80, 20))
LABELS = DESIGN[:, 0] * 2 + np.random.default_rng(3).logistic(size=80) > 0


def horseshoe(p):
    def half_cauchy(log_scale):
        return (log_scale - jnp.log1p(jnp.exp(log_scale) ** 2)).sum()

    prior = half_cauchy(p["log_tau"]) + half_cauchy(p["log_lam"])
    scale = jnp.exp(p["log_tau"] + p["log_lam"])
    predictor = DESIGN @ p["beta"]
    return (
        prior
        + norm.logpdf(p["beta"], 0, scale).sum()
        + jnp.where(LABELS, predictor, 0.0).sum()
        - jnp.logaddexp(0.0, predictor).sum()
    )


def neal(p):
    return -0.5 * (p["v"] / 3) ** 2 + norm.logpdf(p["x"], 0, jnp.exp(p["v"] / 2)).sum()


GROUPS_INIT = {"mu": 0.0, "log_tau": 0.0, "log_sigma": 0.0, "theta": jnp.zeros(100)}
HORSESHOE_INIT = {"log_tau": 0.0, "log_lam": jnp.zeros(20), "beta": jnp.zeros(20)}
SCHOOLS_INIT = {"mu": 0.0, "log_tau": 0.0, "theta": jnp.zeros(8)}


def target_of(density, init):
    target = mp.Target.from_density(density, init)
    return with_read_residuals(target, jax.ShapeDtypeStruct((target.dimension,), float))


def whitening(density, init):
    target = target_of(density, init)
    return whitening_of(target, jax.ShapeDtypeStruct((target.dimension,), float))


def test_what_was_found_is_said_in_words():
    found = mp.residuals_of(readme, {"theta": 0.0, "v": 0.0})
    lines = str(found).splitlines()
    assert [line.split("  ")[0] for line in lines[:3]] == ["0.3 - theta", "theta/exp(0.5·v)", "0.3333·v"]
    assert lines[1].endswith("of theta and v")
    assert lines[-1] == "3 residuals in total, read off the log density."
    assert len(found) == 3
    values = found({"theta": 2.0, "v": 1.0})
    np.testing.assert_allclose(sorted(map(float, values)), sorted([0.3 - 2.0, 2.0 / np.exp(0.5), 1 / 3]))


def test_nothing_found_is_said_too():
    found = mp.residuals_of(lambda x: -jnp.abs(x).sum(), jnp.zeros(2))
    assert not len(found)
    assert "No residuals were found" in str(found)
    with pytest.raises(mp.ParameterError, match="Give init"):
        mp.residuals_of(readme)


@pytest.mark.slow
def test_the_line_of_a_run_says_so():
    tree = sample_quietly(readme, {"theta": 0.0, "v": 0.0}, draws=20, warmup=60, progress=False)
    assert tree["posterior"].attrs["chosen"].startswith("theta given v, whitened by residuals read off the density")


def test_residuals_found_can_be_given():
    init = {"theta": 0.0, "v": 0.0}
    found = mp.residuals_of(readme, init)
    tree = sample_quietly(readme, init, residuals=found, draws=20, warmup=60, progress=False)
    assert tree["posterior"].attrs["chosen"].startswith("theta given v, whitened; ")


def test_descriptions_list_them():
    assert "(theta - mu)/exp(log_tau)" in target_of(schools, SCHOOLS_INIT).describe()
    assert mp.whiten(mp.targets.neal_funnel(3)).describe() == "x given v, whitened by residuals read off the density"


def test_constant_information_counts_as_data():
    found = whitening(groups, GROUPS_INIT)
    assert found.words == "mu and theta given log_sigma and log_tau, whitened by residuals read off the density"
    assert found.initial.plan.data_rows == ((0, 500),)
    assert found.initial.plan.scaled == (True,)
    assert found.initial.latent.shape == (103,)


def test_few_rows_stay_latent():
    found = whitening(schools, SCHOOLS_INIT)
    assert found.words.startswith("mu and theta given log_tau")
    assert found.initial.plan.data_rows == ()


def test_other_likelihoods_are_data_without_residuals():
    counts = np.arange(8.0)

    def density(p):
        z = (p["theta"] - p["mu"]) * jnp.exp(-p["v"])
        likelihood = (counts * p["theta"] - jnp.exp(p["theta"])).sum()
        return likelihood - 0.5 * (z @ z + p["mu"] ** 2 + p["v"] ** 2) - 8 * p["v"]

    found = whitening(density, {"theta": jnp.zeros(8), "mu": 0.0, "v": 0.0})
    assert found.words.startswith("mu and theta given v")
    assert found.initial.plan.data_rows == ((0, 0),)
    x = jnp.asarray(np.random.default_rng(0).normal(size=10))
    theta = x[1:9]
    expected = (counts * theta - jnp.exp(theta)).sum() - 8 * x[9]
    assert float(found.data.log_likelihoods(x)[0]) == pytest.approx(float(expected))


def test_robust_data_leaves_the_prior_inner():
    def density(p):
        robust = -3 * jnp.log1p(((EFFECTS - p["theta"]) / 10) ** 2 / 5).sum()
        return robust + norm.logpdf(p["theta"], p["mu"], jnp.exp(p["log_tau"])).sum() - 0.5 * p["mu"] ** 2

    assert whitening(density, SCHOOLS_INIT).words.startswith("mu and theta given log_tau")


def test_a_horseshoe_is_whitened():
    assert whitening(horseshoe, HORSESHOE_INIT).words.startswith("beta given log_lam and log_tau, whitened")


def test_a_hierarchy_that_is_written_non_centred_is_whitened_by_its_predictors():
    def logistic(p):
        predictor = (p["mu"] + jnp.exp(p["log_tau"]) * p["z"])[jnp.arange(20) % 5]
        prior = norm.logpdf(p["mu"]) + norm.logpdf(p["log_tau"]) + norm.logpdf(p["z"]).sum()
        return prior + jnp.where(LABELS[:20], predictor, 0.0).sum() - jnp.logaddexp(0.0, predictor).sum()

    found = whitening(logistic, {"mu": 0.0, "log_tau": 0.0, "z": jnp.zeros(5)})
    assert found.words.startswith("mu and z given log_tau, whitened")
    assert found.data.predictors.shape == (5,)


def test_densities_without_hierarchy_are_sampled_as_they_were():
    def regression(x):
        return -0.5 * x @ x - jnp.logaddexp(0.0, x * EFFECTS[:3]).sum()

    target = mp.Target.from_density(regression, jnp.zeros(3))
    assert with_read_residuals(target, jax.ShapeDtypeStruct((3,), float)) is target


def right(draws, truth):
    """Whether quantiles are within four standard errors."""
    for probability in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99):
        error = mcse(draws, method="quantile", prob=probability).item()
        assert abs(np.quantile(draws, probability) - truth.ppf(probability)) < 4 * error


@pytest.mark.usefixtures("optimized")
def test_a_bare_funnel_is_right():
    tree = mp.sample(neal, {"x": jnp.zeros(9), "v": 0.0}, progress=False)
    assert "whitened" in tree["posterior"].attrs["chosen"]
    right(tree["posterior"]["v"], stats.norm(0, 3))


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("seed", range(3))
def test_a_bare_funnel_of_fifty_is_right(seed):
    tree = mp.sample(mp.targets.funnel(50), seed=seed, progress=False)
    right(tree["posterior"]["a"], stats.norm(0, 15**0.5))


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize(
    ("density", "init"),
    [(schools, SCHOOLS_INIT), (groups, GROUPS_INIT), (horseshoe, HORSESHOE_INIT)],
    ids=["schools", "groups", "horseshoe"],
)
def test_bare_hierarchies_agree_with_residuals_by_hand(density, init):
    tree = mp.sample(density, init, progress=False)
    again = mp.sample(density, init, seed=1, residuals=mp.residuals_of(density, init), progress=False)
    for probability in (0.01, 0.1, 0.5, 0.9, 0.99):
        one, two = tree["posterior"]["log_tau"], again["posterior"]["log_tau"]
        errors = [mcse(draws, method="quantile", prob=probability).item() for draws in (one, two)]
        assert abs(np.quantile(one, probability) - np.quantile(two, probability)) < 4 * np.hypot(*errors)
