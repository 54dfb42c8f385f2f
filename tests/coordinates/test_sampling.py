"""`mp.sample` in whitened coordinates."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import sample_quietly
from hierarchies import EXAMPLE, grouped_data, groups, hierarchy, prior, residuals
from scipy import stats

import mongepatch as mp
from mongepatch.chains.chunks import compiled_programs
from mongepatch.chains.effective_size import smallest_ess

quiet = functools.partial(sample_quietly, progress=False)

ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])


def schools(y=EFFECTS):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(y)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, ERRORS), obs=y)


@pytest.fixture(scope="module")
def tree():
    return mp.sample(mp.from_numpyro(schools), progress=False, save_warmup=True)


def log_tau_quantiles(probabilities):
    """Of the exact posterior: given τ, y is normal with mean 0 and covariance diag(errors² + τ²) + 5²."""
    grid = np.linspace(-12.0, 6.0, 4001)
    covariances = [np.diag(ERRORS**2 + np.exp(2 * t)) + 25.0 for t in grid]
    log_density = [stats.multivariate_normal(np.zeros(8), c).logpdf(EFFECTS) for c in covariances]
    log_density = np.array(log_density) + grid - np.log1p(np.exp(2 * grid) / 25)
    weights = np.exp(log_density - log_density.max())
    return np.interp(probabilities, np.cumsum(weights) / weights.sum(), grid)


def test_a_centred_hierarchy_is_right(tree):
    attrs = tree["posterior"].attrs
    assert attrs["chosen"].startswith("mu and theta given tau, whitened; trajectory static, up to")
    assert int(tree["sample_stats"]["diverging"].sum()) <= 4
    log_tau = np.log(np.asarray(tree["posterior"]["tau"]))
    for probability in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99):
        below = log_tau < log_tau_quantiles(probability)
        chunks = below.reshape(4 * 10, -1).mean(axis=1)  # batches longer than the autocorrelation
        error = chunks.std(ddof=1) / np.sqrt(len(chunks))
        assert abs(below.mean() - probability) < 4.0 * error


def test_results_are_in_the_variables_of_the_model(tree):
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "school")
    theta, tau = np.asarray(tree["posterior"]["theta"]), np.asarray(tree["posterior"]["tau"])
    assert 3.0 < theta.mean() < 6.0
    small = tau < 0.5
    assert theta[small].std(axis=1).max() < 3.0  # where τ is small, effects are close to each other
    warmup = np.asarray(tree["warmup_posterior"]["theta"])
    assert warmup.shape == (4, tree["posterior"].attrs["tuning_steps"], 8)
    assert 3.0 < warmup[:, 300:].mean() < 6.0


def test_other_data_and_seeds_compile_nothing():
    first = quiet(mp.from_numpyro(schools), draws=20, warmup=100)
    before = compiled_programs()
    again = quiet(mp.from_numpyro(schools), draws=20, warmup=100)
    other = quiet(mp.from_numpyro(schools, EFFECTS[::-1].copy()), draws=20, warmup=100, seed=1)
    assert compiled_programs() == before
    np.testing.assert_array_equal(first["posterior"]["tau"], again["posterior"]["tau"])
    assert not np.array_equal(first["posterior"]["tau"], other["posterior"]["tau"])


@pytest.mark.slow
def test_a_whitened_target_is_sampled_in_its_coordinates():
    target = hierarchy()
    short = functools.partial(quiet, draws=20, warmup=100)
    by_option, by_target = short(target, EXAMPLE), short(mp.whiten(target), EXAMPLE)
    assert by_option["posterior"].attrs["chosen"].startswith("mu and theta given v, whitened; with warmup below 300")
    np.testing.assert_array_equal(by_option["posterior"]["theta"], by_target["posterior"]["theta"])
    plain = short(target, EXAMPLE, whiten=False)
    assert not np.array_equal(by_option["posterior"]["theta"], plain["posterior"]["theta"])


@pytest.mark.slow
def test_any_metric_takes_whitened_coordinates():
    tree = quiet(hierarchy(), EXAMPLE, metric=mp.Monge(0.2), whiten=True, trajectory=mp.Static(6), warmup=200)
    v = np.asarray(tree["posterior"]["v"])
    assert tree["posterior"].attrs["metric"] == "Monge"
    assert abs(v.mean()) < 0.3
    assert 0.8 < v.std() < 1.2


@pytest.mark.slow
def test_the_log_density_is_that_of_the_model():
    tree = quiet(hierarchy(), EXAMPLE, draws=20, warmup=100)
    posterior = {name: jnp.asarray(values) for name, values in tree["posterior"].to_dataset().items()}
    np.testing.assert_allclose(tree["sample_stats"]["lp"], jax.vmap(jax.vmap(prior))(posterior), rtol=1e-8, atol=1e-8)


def test_alpha_is_found_in_whitened_coordinates_too():
    tree = quiet(hierarchy(), EXAMPLE, metric="monge", whiten=True, warmup=300, draws=10)
    assert tree["posterior"].attrs["chosen"].startswith("mu and theta given v, whitened; metric ")


def test_whitening_needs_inner_variables():
    with pytest.raises(mp.SettingError, match="whiten=True needs a model"):
        mp.sample(lambda x: -x @ x, jnp.zeros(2), whiten=True)
    with pytest.raises(mp.SettingError, match='whiten must be "auto"'):
        mp.sample(lambda x: -x @ x, jnp.zeros(2), whiten="yes")
    with pytest.raises(mp.ModelError, match="Nothing can be whitened"):
        mp.whiten(mp.targets.ring())
    with pytest.raises(mp.SettingError, match="model's own coordinates"):
        mp.sample(hierarchy(), EXAMPLE, whiten=True, metric="patch")
    with pytest.raises(mp.SettingError, match="data_residuals come with residuals"):
        mp.sample(lambda x: -x @ x, jnp.zeros(2), data_residuals=lambda x: x)


@pytest.mark.slow
def test_residuals_that_are_not_finite_leave_the_model_as_it_is():
    broken = lambda p: {**residuals(p), "theta": residuals(p)["theta"] * jnp.sqrt(p["v"] - 100.0)}  # noqa: E731
    with pytest.raises(mp.MongepatchError):
        mp.sample(prior, EXAMPLE, residuals=broken, whiten=True, warmup=100, draws=10)
    with pytest.raises(mp.MetricError, match="residuals are not finite"):  # told by the patch, which could use them
        mp.sample(prior, EXAMPLE, residuals=broken, warmup=100, draws=10)


@jax.custom_vjp
def once(x):
    """Has a derivative in reverse mode alone, as solvers of differential equations have."""
    return x * 1.0


once.defvjp(lambda x: (x, None), lambda _, g: (g,))


@pytest.mark.slow
def test_data_behind_a_function_without_forward_derivative():
    group, y = grouped_data([3, 3, 30, 30])

    def model():
        mu, tau = numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("tau", dist.HalfNormal(1))
        theta = numpyro.sample("theta", dist.Normal(mu, tau).expand([4]))
        numpyro.sample("y", dist.Normal(once(theta)[group], 1.0), obs=y)

    tree = quiet(mp.from_numpyro(model), draws=100, warmup=300)
    assert "whitened" in tree["posterior"].attrs["chosen"]


@pytest.mark.slow
def test_a_model_whose_residuals_are_not_smooth_is_sampled_without():
    def model():
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(once(x), 1.0), obs=0.3)

    tree = quiet(mp.from_numpyro(model), draws=100, warmup=300)
    assert tree["posterior"].attrs["metric"] == "Euclidean"


@pytest.mark.slow
def test_single_precision_is_as_effective_as_double_precision(tree):
    """A gradient of eight schools gives about as many effective draws; a quarter where the neck loses all digits."""
    double = effective_draws_per_gradient(tree)
    jax.config.update("jax_enable_x64", False)
    try:
        single = effective_draws_per_gradient(quiet(mp.from_numpyro(schools)))
    finally:
        jax.config.update("jax_enable_x64", True)
    assert single > 0.7 * double


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
def test_no_chain_of_many_stands_still_in_single_precision():
    """Long first steps throw some chains to where rounding decides on the density; its peaks once held them."""
    jax.config.update("jax_enable_x64", False)
    try:
        rng, group = np.random.default_rng(0), np.repeat(np.arange(100), 10)
        y = rng.normal(rng.normal(0.45, 0.1, size=100)[group], 1.0)
        tree = quiet(mp.from_numpyro(groups, group, y), chains=512, draws=50)
    finally:
        jax.config.update("jax_enable_x64", True)
    assert float(tree["sample_stats"]["acceptance_rate"].mean("draw").min()) > 0.6
    assert float(np.log(tree["posterior"]["tau"]).min()) > -15.0


def effective_draws_per_gradient(tree):
    log_tau = np.log(np.asarray(tree["posterior"]["tau"], np.float64))
    return smallest_ess(log_tau[..., None]) / np.asarray(tree["sample_stats"]["n_grad"]).sum()
