"""Results of PyMC models are what PyMC's users go on with: PyMC's type, groups and attributes, and its functions."""

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from trilingual import SIGMA, Y, point_of, pymc_schools

import mongepatch as mp

pm = pytest.importorskip("pymc", reason="pymc is not installed: pip install 'mongepatch[pymc]'")
az = pytest.importorskip("arviz", reason="arviz is not installed: pip install arviz")

pytestmark = pytest.mark.filterwarnings(
    "ignore::mongepatch.SamplingWarning",  # short runs
    "ignore::UserWarning:pymc",
    "ignore::UserWarning:pytensor",
    "ignore::UserWarning:arviz",
    "ignore::UserWarning:arviz_stats",  # short runs
    "ignore::FutureWarning",
    "ignore::DeprecationWarning",
    "ignore::RuntimeWarning",
)
SHORT = {"chains": 2, "tune": 100, "draws": 100, "random_seed": 123, "progressbar": False}


def groups(result):
    return set(result.groups() if callable(result.groups) else result.children)


def regression():
    """Four observations of one mean; one datum of a constant beside them."""
    with pm.Model() as model:
        level = pm.Normal("level", 100.0, 5.0)
        data = pm.Data("data", [1.0, 2.0, 3.0, 4.0])
        pm.Data("unused", [100.0, 190.0])
        pm.Deterministic("twice", 2 * level)
        pm.Normal("likelihood", level, 0.1, observed=data)
    return model


@pytest.fixture(scope="module")
def runs():
    """The same run twice, and one of PyMC's own."""
    with regression() as model:
        ours = [mp.sample_pymc(**SHORT, initvals={"level": 0.0}) for _ in range(2)]
        theirs = pm.sample(**SHORT, cores=1, initvals={"level": 0.0}, compute_convergence_checks=False)
    return model, *ours, theirs


def test_the_type_is_pymcs(runs):
    _, ours, _, theirs = runs
    assert type(ours) is type(theirs)


def test_groups_sizes_and_attributes_are_pymcs(runs):
    _, ours, _, theirs = runs
    assert groups(theirs) - groups(ours) == set()
    for group in ("observed_data", "constant_data"):
        assert set(ours[group].data_vars) == set(theirs[group].data_vars)
    assert dict(ours["posterior"].sizes) == dict(theirs["posterior"].sizes)
    assert set(ours["posterior"].data_vars) == set(theirs["posterior"].data_vars)
    missing = set(theirs["posterior"].attrs) - set(ours["posterior"].attrs)
    assert not missing - {"inference_library_language"}
    assert ours["posterior"].attrs["tuning_steps"] == 100
    assert ours["posterior"].attrs["modeling_interface"] == "pymc"


def test_equal_seeds_make_equal_draws(runs):
    model, ours, again, _ = runs
    np.testing.assert_array_equal(ours["posterior"]["level"], again["posterior"]["level"])
    options = {**SHORT, "initvals": {"level": 0.0}, "model": model}
    other = mp.sample_pymc(**options | {"random_seed": None})
    assert not np.array_equal(ours["posterior"]["level"], other["posterior"]["level"])
    seed = other["posterior"].attrs["seed"]
    recorded = mp.sample_pymc(**options | {"random_seed": seed})
    np.testing.assert_array_equal(recorded["posterior"]["level"], other["posterior"]["level"])
    by_list, by_generator = [1, 2], np.random.default_rng(3)
    for random_seed in (by_list, by_generator, np.random.RandomState(0)):
        assert isinstance(mp.sample_pymc(**options | {"random_seed": random_seed, "draws": 1}), type(ours))


def test_variables_are_kept_by_name(runs):
    model, ours, _, _ = runs
    some = mp.sample_pymc(**SHORT, model=model, initvals={"level": 0.0}, var_names=["level"])
    assert set(some["posterior"].data_vars) == {"level"}
    xr.testing.assert_allclose(some["posterior"]["level"], ours["posterior"]["level"])


def test_other_arguments_of_pymc():
    model = pymc_schools()
    options = {"metric": mp.Euclidean(), "trajectory": mp.Static(1), "step_size": 1e-9, "tune": 0, "draws": 1}
    options |= {"model": model, "progressbar": False, "init_spread": 0.0, "cores": 1, "random_seed": 0}
    start = mp.sample_pymc(**options, chains=2, initvals={"tau": 0.5, model["mu"]: 3})["posterior"]
    np.testing.assert_allclose(start["tau"], 0.5, rtol=1e-6)
    np.testing.assert_allclose(start["mu"], 3.0, rtol=1e-6)
    assert np.ptp(start["theta"].values) > 0
    each = [{"tau": 0.5}, {"tau": 2.0}]
    start = mp.sample_pymc(**options, chains=2, initvals=each)["posterior"]
    np.testing.assert_allclose(start["tau"].values[:, 0], [0.5, 2.0], rtol=1e-6)
    with pytest.raises(mp.ParameterError, match="list of 3 dicts"):
        mp.sample_pymc(**options, chains=3, initvals=each)
    with pytest.raises(mp.ParameterError, match="'tau' in init is outside"):
        mp.sample_pymc(**options, initvals={"tau": -1.0})
    with pytest.raises(mp.SettingError, match="progressbar is PyMC's name for progress"):
        mp.sample_pymc(model=model, progressbar=False, progress=True)
    with pytest.raises(mp.SettingError, match="idata_kwargs may have log_likelihood"):
        mp.sample_pymc(**options, idata_kwargs={"include_transformed": True})
    kept = mp.sample_pymc(
        **{**options, "tune": 5}, chains=1, discard_tuned_samples=False, target_accept=0.9,
        idata_kwargs={"log_likelihood": ["y"], "coords": {"school": range(8)}},
    )  # fmt: skip
    assert kept["warmup_posterior"]["tau"].shape == (1, 5)
    assert kept["log_likelihood"]["y"].shape == (1, 1, 8)
    assert list(kept["posterior"]["school"].values) == list(range(8))


@pytest.fixture(scope="module")
def schools():
    model = pymc_schools()
    return model, mp.sample_pymc(
        model=model, draws=200, tune=300, random_seed=1, progressbar=False, idata_kwargs={"log_likelihood": True}
    )


def test_functions_of_pymc_and_arviz_take_the_result(schools):
    model, result = schools
    with model:
        predictive = pm.sample_posterior_predictive(result, random_seed=1, progressbar=False)
        again = pm.compute_log_likelihood(result, extend_inferencedata=False, progressbar=False)
    assert predictive["posterior_predictive"]["y"].shape == (4, 200, 8)
    assert mp.from_pymc(model).dimension == 10  # though PyMC 5 lists data twice after that
    np.testing.assert_allclose(again["y"], result["log_likelihood"]["y"])
    assert {"mu", "tau"} <= set(az.summary(result).index)
    assert np.isfinite(az.loo(result).elpd if hasattr(az.loo(result), "elpd") else az.loo(result).elpd_loo)
    import matplotlib

    matplotlib.use("Agg")
    assert (az.plot_trace if hasattr(az, "plot_trace") else az.plot_trace_dist)(result, var_names=["mu"]) is not None


def test_the_target_adds_the_groups_of_a_workflow(schools):
    model, result = schools
    target = mp.from_pymc(model)
    tree = mp.sample(target, draws=100, warmup=200, progress=False, log_likelihood=True)
    for given in (result, tree):
        whole = target.prior_predictive(target.predict(target.log_likelihood(given), seed=2), draws=50)
        assert type(whole) is type(given)
        assert {"log_likelihood", "posterior_predictive", "prior", "prior_predictive"} <= groups(whole)
        assert "posterior_predictive" not in groups(given)
        assert whole["prior"]["theta"].shape == (1, 50, 8)
        assert whole["posterior_predictive"]["y"].dims == ("chain", "draw", "school")
    theta, y = tree["posterior"]["theta"].values, tree["log_likelihood"]["y"].values
    np.testing.assert_allclose(y, -0.5 * ((Y - theta) / SIGMA) ** 2 - np.log(SIGMA * np.sqrt(2 * np.pi)))
    with model:  # a tree as PyMC 6 takes it, or converted for PyMC 5
        theirs = tree if isinstance(result, xr.DataTree) else az.from_datatree(tree)
        assert "y" in pm.sample_posterior_predictive(theirs, progressbar=False)["posterior_predictive"]
    new = target.predict(tree, data={"sigma": 1e-6 * SIGMA})
    np.testing.assert_allclose(new["predictions"]["y"], theta, atol=1e-3)
    np.testing.assert_array_equal(model["sigma"].get_value(), SIGMA)
    alone = target.prior_predictive(draws=10)
    assert {"prior", "prior_predictive", "observed_data", "constant_data"} == groups(alone)


def test_results_can_be_used_again(schools):
    model, result = schools
    again = mp.sample_pymc(model=model, draws=200, tuning=result, random_seed=2, progressbar=False)
    assert again["posterior"].attrs["step_size"] == result["posterior"].attrs["step_size"]
    assert again["posterior"].attrs["tuning_steps"] == 0
    assert again["sample_stats"]["acceptance_rate"].mean() > 0.6
    last = result["posterior"].isel(draw=-1)
    options = {"metric": mp.Euclidean(), "trajectory": mp.Static(1), "step_size": 1e-9, "warmup": 0, "draws": 1}
    start = mp.sample(mp.from_pymc(model), last, **options, init_per_chain=True, progress=False)["posterior"]
    np.testing.assert_allclose(start["theta"].isel(draw=0), last["theta"], rtol=1e-5)


def test_unconstrained_values_are_those_that_constrain_takes():
    """Transforms of all kinds, one with bounds that other variables move."""
    with pm.Model() as model:
        low = pm.Normal("low", 0, 1)
        pm.Uniform("between", low, low + 2)
        pm.Dirichlet("weights", np.array([1.0, 2.0, 3.0]))
        pm.Gamma("positive", 2.0, 1.0, shape=2)
    target = mp.from_pymc(model)
    values = {"low": 0.3, "between": 0.7, "weights": np.array([0.2, 0.5, 0.3]), "positive": np.array([1.0, 4.0])}
    position = target.unconstrain(values, jnp.zeros(target.dimension))
    assert np.isfinite(float(model.compile_logp()(point_of(model, target, position))))
    for name, value in target.constrain(position).items():
        np.testing.assert_allclose(value, values[name], rtol=1e-6)


def test_missing_data_are_nan_where_they_were_given():
    holes = Y.copy()
    holes[2:4] = np.nan
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu = pm.Normal("mu", 0, 5)
        pm.Normal("y", mu, 10.0, observed=holes, dims="school")
    target = mp.from_pymc(model)
    np.testing.assert_array_equal(target.observed_data["y"], holes)
    np.testing.assert_array_equal(target.observed_data["y_observed"], holes[~np.isnan(holes)])
    assert target.dims["y"] == ["school"]


def test_bambi_predicts_from_the_result():
    bambi = pytest.importorskip("bambi", reason="bambi is not installed: pip install bambi")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    data = pandas.DataFrame({"x": x, "y": 1.0 + 2.0 * x + rng.normal(size=30)})
    model = bambi.Model("y ~ x", data)
    model.build()
    result = mp.sample_pymc(model=model.backend.model, draws=100, tune=200, random_seed=1, progressbar=False)
    predicted = model.predict(result, kind="response", inplace=False)
    assert predicted["posterior_predictive"]["y"].shape == (4, 100, 30)
