"""Groups of a workflow: the log likelihood of data, predictions, the prior, and data as they were given."""

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import xarray as xr
from numpyro.contrib.control_flow import scan

import mongepatch as mp

X = np.linspace(-1.0, 1.0, 6)
GROUP = np.array([0, 0, 1, 1, 2, 2])
Y = np.array([0.3, -1.0, 0.8, 1.1, 2.0, -0.2])
HOLES = np.where(np.arange(6) == 2, np.nan, Y)


def regression(group, x, y=None):
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    with numpyro.plate("group", 3):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("observation", len(x)):
        mean = numpyro.deterministic("mean", slope[group] * x)
        numpyro.sample("y", dist.Normal(mean, sigma), obs=y)


def with_holes(y):
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    with numpyro.plate("observation", len(y)):
        numpyro.sample("y", dist.Normal(mu, 1), obs=jnp.nan_to_num(y), obs_mask=~np.isnan(y))


def posterior_of(target, shape=(2, 50), **fixed):
    """A tree of any draws: these functions do not ask where they come from."""
    rng = np.random.default_rng(0)
    values = {name: np.abs(rng.normal(size=(*shape, *target.variables[name]))) for name in target.layout.names}
    values = {name: values[name] * 0 + fixed[name] if name in fixed else values[name] for name in values}
    dims = {name: ("chain", "draw", *target.dims[name]) for name in values}
    coords = {"group": ["a", "b", "c"]} if "slope" in values else {}
    dataset = xr.Dataset({name: (dims[name], value) for name, value in values.items()}, coords)
    return xr.DataTree.from_dict({"posterior": dataset})


@pytest.fixture(scope="module")
def target():
    return mp.from_numpyro(regression, GROUP, X, Y)


def test_the_log_likelihood_is_that_of_each_observation(target):
    tree = posterior_of(target)
    found = target.log_likelihood(tree)
    assert "log_likelihood" not in tree.children
    y = found["log_likelihood"]["y"]
    assert y.dims == ("chain", "draw", "observation")
    slope, sigma = tree["posterior"]["slope"].values, tree["posterior"]["sigma"].values[..., None]
    expected = -0.5 * ((Y - slope[..., GROUP] * X) / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(y, expected)


def test_predictions_are_drawn_at_each_draw(target):
    tree = posterior_of(target, (2, 1000), sigma=0.5)
    found = target.predict(tree)
    y = found["posterior_predictive"]["y"]
    assert y.dims == ("chain", "draw", "observation")
    errors = (y.values - tree["posterior"]["slope"].values[..., GROUP] * X) / 0.5
    assert abs(errors.mean()) < 4 / np.sqrt(errors.size)
    assert abs(errors.std() - 1) < 4 / np.sqrt(2 * errors.size)
    assert found.equals(target.predict(tree))
    assert not found.equals(target.predict(tree, seed=1))


def test_predictions_for_other_arguments(target):
    tree = posterior_of(target, sigma=1e-6)
    found = target.predict(tree, data={"group": np.array([2]), "x": np.array([10.0]), "y": None})
    np.testing.assert_allclose(found["predictions"]["y"][..., 0], 10 * tree["posterior"]["slope"][..., 2], atol=1e-4)
    assert found["predictions"]["y"].dims == ("chain", "draw", "observation")
    np.testing.assert_array_equal(found["predictions_constant_data"]["x"], [10.0])
    with pytest.raises(mp.SettingError, match=r"\['z'\].*\['group', 'x', 'y'\]"):
        target.predict(tree, data={"z": X})


def test_the_prior_is_that_of_the_model(target):
    tree = target.prior_predictive(draws=2000)
    assert {"prior", "prior_predictive", "observed_data", "constant_data"} == set(tree.children)
    assert set(tree["prior"].data_vars) == {"sigma", "slope", "mean"}
    assert set(tree["prior_predictive"].data_vars) == {"y"}
    slope = tree["prior"]["slope"].values
    assert abs(slope.mean()) < 4 / np.sqrt(slope.size)
    assert abs(slope.std() - 1) < 4 / np.sqrt(2 * slope.size)
    assert abs((tree["prior"]["sigma"] ** 2).mean() - 1) < 4 * np.sqrt(2 / 2000)
    assert set(target.prior_predictive(posterior_of(target)).children) == {"posterior", "prior", "prior_predictive"}


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning", "ignore:Estimated shape")  # a short run
def test_a_run_may_have_the_log_likelihood_at_once(target):
    options = {"metric": mp.Euclidean(), "trajectory": mp.Static(5), "step_size": 0.1, "warmup": 0, "draws": 100}
    tree = mp.sample(target, **options, progress=False, log_likelihood=True, keep=["sigma"])
    whole = mp.sample(target, **options, progress=False)
    assert tree["log_likelihood"]["y"].equals(target.log_likelihood(whole)["log_likelihood"]["y"])
    assert np.isfinite(arviz_stats.loo(tree).elpd)
    with pytest.raises(mp.ParameterError, match=r"lacks \['slope'\]"):
        target.predict(tree)


def test_densities_alone_have_no_data():
    density = mp.targets.funnel(2)
    with pytest.raises(mp.ModelError, match="predict needs a model"):
        density.predict(xr.DataTree())
    with pytest.raises(mp.ModelError, match="log_likelihood=True needs a model"):
        mp.sample(density, log_likelihood=True)
    unobserved = mp.from_numpyro(lambda: numpyro.sample("x", dist.Normal(0, 1)))
    with pytest.raises(mp.ModelError, match="no observed site"):
        unobserved.log_likelihood(posterior_of(unobserved))
    flat = mp.from_numpyro(lambda: numpyro.sample("x", dist.ImproperUniform(dist.constraints.real, (), ())))
    with pytest.raises(mp.ModelError, match="cannot draw from its prior"):
        flat.prior_predictive()


def test_data_are_as_they_were_given(target):
    np.testing.assert_array_equal(target.constant_data["group"], GROUP)  # the name of a plate too
    np.testing.assert_array_equal(target.constant_data["x"], X)
    assert set(target.observed_data) == {"y"}
    holes = mp.from_numpyro(with_holes, HOLES)
    np.testing.assert_array_equal(holes.observed_data["y"], HOLES)
    assert not holes.constant_data
    tree = holes.predict(holes.log_likelihood(posterior_of(holes)))
    assert tree["log_likelihood"]["y_observed"].shape == (2, 50, 5)
    predicted = tree["posterior_predictive"]["y"]
    np.testing.assert_array_equal(predicted[..., 2], tree["posterior"]["y_unobserved"][..., 2])
    assert not np.isclose(predicted[..., 0], Y[0]).any()


def test_scans_are_predicted_too():
    def walk(y, steps=4):
        sigma = numpyro.sample("sigma", dist.HalfNormal(1))

        def step(level, y):
            level = numpyro.sample("level", dist.Normal(level, 1))
            numpyro.sample("y", dist.Normal(level, sigma), obs=y)
            return level, None

        scan(step, 0.0, y, length=steps)

    target = mp.from_numpyro(walk, Y[:4])
    tree = posterior_of(target, sigma=1e-6)
    level = tree["posterior"]["level"].values
    np.testing.assert_allclose(target.predict(tree)["posterior_predictive"]["y"], level, atol=1e-4)
    np.testing.assert_allclose(target.predict(tree, data={"y": None})["predictions"]["y"], level, atol=1e-4)
    likelihood = target.log_likelihood(tree)["log_likelihood"]["y"]
    np.testing.assert_allclose(likelihood, jax.scipy.stats.norm.logpdf(Y[:4], level, 1e-6))
