"""What warm-up found is in the result, and another run takes it as it is."""

import io
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from helpers import slow_but

import mongepatch as mp

SCALES = jnp.array([1.0, 3.0, 0.1])
INIT = {"a": 0.0, "b": jnp.zeros(2)}
QUIET = {"progress": False, "draws": 30, "chains": 2}

KINDS = (("auto", "auto", "Euclidean"), ("patch", False, "Patch"))

pytestmark = pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # short runs


def normal(p):
    return -0.5 * ((jnp.append(p["b"], p["a"]) / SCALES) ** 2).sum()


def hierarchy():
    """A scale, and two variables that can be whitened given it."""
    target = mp.Target.from_density(
        lambda p: -0.5 * (jnp.exp(-2 * p["v"]) * p["theta"] @ p["theta"] + p["v"] ** 2) - 2 * p["v"],
        {"theta": jnp.zeros(2), "v": 0.0},
    )
    return target.with_residuals(lambda p: (p["theta"] * jnp.exp(-p["v"]), p["v"]))


@pytest.fixture(scope="module")
def tree():
    return mp.sample(normal, INIT, metric="euclidean", trajectory="nuts", warmup=100, **QUIET, seed=1)


def test_the_group_has_all_that_was_found(tree):
    tuning, attrs = tree["tuning"], tree["posterior"].attrs
    assert tuning["step_size"] == attrs["step_size"]
    assert list(tuning["parameter"].values) == ["a", "b[0]", "b[1]"]
    assert tuning.attrs["metric"] == attrs["metric"] == "Euclidean"
    assert tuning.attrs["trajectory"] == attrs["trajectory"]
    np.testing.assert_array_equal(tuning["position"][:, 0], tree["posterior"]["a"].isel(draw=-1))
    scale, directions = tuning["inverse_mass_scale"].values, tuning["inverse_mass_directions"].values
    correlation = np.eye(3) + directions @ np.diag(tuning["inverse_mass_eigenvalues"].values - 1) @ directions.T
    np.testing.assert_allclose(scale**2 * np.diag(correlation), np.array([0.1, 1.0, 3.0]) ** 2, rtol=0.5)


def test_what_is_given_is_not_found():
    options = {"metric": mp.Euclidean(), "trajectory": mp.Static(3), "step_size": 0.1, "warmup": 5}
    assert "tuning" not in mp.sample(normal, INIT, **options, **QUIET).children


def test_a_run_with_it_is_the_run_with_these_settings(tree):
    """The same draws as with the metric, the trajectory and the step size given by hand; from a file too."""
    tuning = tree["tuning"].to_dataset()
    stored = xr.load_dataset(io.BytesIO(tuning.to_netcdf(engine="scipy")), engine="scipy")
    parts = [stored[f"inverse_mass_{name}"].values for name in ("scale", "directions", "eigenvalues")]
    metric = mp.Euclidean(mp.metrics.low_rank.LowRank(*map(jnp.asarray, parts)))
    step_size = float(stored["step_size"])
    by_hand = mp.sample(
        normal, INIT, metric=metric, trajectory=mp.NUTS(), step_size=step_size, warmup=0, **QUIET, seed=2
    )
    for given in (tree, stored):
        again = mp.sample(normal, INIT, tuning=given, **QUIET, seed=2)
        xr.testing.assert_equal(again["posterior"].to_dataset(), by_hand["posterior"].to_dataset())
        assert again["posterior"].attrs["tuning_steps"] == 0
        assert "tuning" in again.children


def test_chains_go_on_where_they_ended_with_other_randomness(tree):
    options = {"tuning": tree, "draws": 1, "progress": False}
    target = mp.Target.from_density(normal, INIT)
    still = mp.sample(target, **options, chains=3, step_size=1e-9)["posterior"]
    ends = tree["posterior"].isel(draw=-1)["b"].values
    reach = 1023 * 1e-9 * 3 * 5  # of a tree of full depth, with a velocity of five standard deviations
    np.testing.assert_allclose(still["b"].isel(draw=0), ends[[0, 1, 0]], atol=reach)
    second = mp.sample(target, tuning=tree, **QUIET)
    third = mp.sample(target, tuning=second, **QUIET)
    steps = [run["sample_stats"]["energy"].values for run in (second, third)]
    assert np.abs(np.corrcoef(steps[0].ravel(), steps[1].ravel())[0, 1]) < 0.9
    assert not np.isclose(second["posterior"]["a"].isel(draw=-1), third["posterior"]["a"].isel(draw=-1)).any()


@pytest.mark.parametrize(("metric", "whiten", "name"), slow_but(KINDS, KINDS[0]), ids=["whitened", "patch"])
def test_coordinates_and_metrics_come_back(metric, whiten, name):
    target, options = (
        hierarchy(),
        {**QUIET, "warmup": 60, "trajectory": mp.Static(5), "init": {"theta": jnp.zeros(2), "v": 0.0}},
    )
    first = mp.sample(target, **options, metric=metric, whiten=whiten, keep=["v"])
    again = mp.sample(target, tuning=first, **QUIET, trajectory=mp.Static(5))
    assert again["posterior"].attrs["metric"] == name
    before, after = (tree["tuning"].to_dataset().drop_vars("position") for tree in (first, again))
    xr.testing.assert_equal(after, before)
    assert ("information_vector" in after) == (whiten == "auto")
    assert ("alpha" in after) == (name == "Patch")
    np.testing.assert_allclose(first["tuning"]["position"][:, 2], first["posterior"]["v"].isel(draw=-1))
    with pytest.raises(mp.SettingError, match="whiten"):
        mp.sample(target, tuning=first, whiten=whiten is False, **QUIET)


def test_a_metric_whose_mass_is_taken_from_tuning_has_its_center_too():
    first = mp.sample(normal, INIT, warmup=300, **QUIET)
    assert first["tuning"].attrs["trajectory"] == "Static"
    again = mp.sample(normal, INIT, tuning=first, metric=mp.Euclidean("auto"), **QUIET)
    for name in ("center", "frequency", "step_size"):
        np.testing.assert_array_equal(again["tuning"][name], first["tuning"][name])
    assert float(again["sample_stats"]["acceptance_rate"].mean()) > 0.9


def test_tuning_that_does_not_fit_is_refused(tree):
    with pytest.raises(mp.SettingError, match="other parameters"):
        mp.sample(lambda x: -x @ x, jnp.zeros(3), tuning=tree, **QUIET)
    with pytest.raises(mp.SettingError, match="kernel 'lmc', not 'rmhmc'"):
        mp.sample(normal, INIT, tuning=tree, kernel="rmhmc", **QUIET)
    with pytest.raises(mp.SettingError, match="warmup=0 leaves no draws to find"):
        mp.sample(normal, INIT, tuning=tree, metric=mp.Monge("auto"), **QUIET)
    with pytest.raises(mp.ParameterError, match="group 'tuning'"):
        mp.sample(normal, INIT, tuning=xr.DataTree(), **QUIET)
    other = tree["tuning"].to_dataset().assign_attrs(metric="SoftAbs")
    with pytest.raises(mp.SettingError, match=r"class SoftAbs.*give metric"):
        mp.sample(normal, INIT, tuning=other, **QUIET)


def test_a_store_holds_the_tuning_and_takes_one(tmp_path, monkeypatch):
    """Draws are those of a run in memory with the same tuning, also after a break before the first draw."""
    pytest.importorskip("zarr")
    options, target = (
        {**QUIET, "trajectory": mp.Static(5)},
        replace(hierarchy(), start=lambda key: jax.random.normal(key, (3,))),
    )
    first, second, third = (str(tmp_path / name) for name in ("first.zarr", "second.zarr", "third.zarr"))
    warm = mp.sample(target, **options, warmup=60, store=first)
    in_store = xr.open_datatree(first, engine="zarr")["tuning"].to_dataset()
    xr.testing.assert_equal(warm["tuning"].to_dataset(), in_store)
    in_memory = mp.sample(target, **options, warmup=60)
    xr.testing.assert_equal(in_memory["tuning"].to_dataset().drop_vars("position"), in_store.drop_vars("position"))
    expected = mp.sample(target, **options, tuning=warm, seed=3)
    stored = mp.sample(target, **options, tuning=first, store=second, seed=3)
    assert stored["posterior"].equals(expected["posterior"])
    assert "tuning" in mp.open_store(second).children

    def cut(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("mongepatch.sampling.keeper.StoreKeeper.add", cut)
        with pytest.raises(KeyboardInterrupt):
            mp.sample(target, **options, tuning=tmp_path / "first.zarr", store=third, seed=3)
    again = mp.resume(third, target, trajectory=mp.Static(5), progress=False)
    assert again["posterior"].equals(expected["posterior"])
    longer = [mp.extend(run, target, draws=5, trajectory=mp.Static(5), progress=False) for run in (third, expected)]
    assert longer[0]["posterior"].equals(longer[1]["posterior"])


def test_the_seed_that_was_drawn_makes_the_same_draws():
    options = {"metric": mp.Euclidean(), "trajectory": mp.Static(3), "step_size": 0.1, "warmup": 0, **QUIET}
    drawn, other = (mp.sample(normal, INIT, **options, seed=None)["posterior"] for _ in range(2))
    assert drawn.attrs["seed"] != other.attrs["seed"]
    assert mp.sample(normal, INIT, **options, seed=drawn.attrs["seed"])["posterior"].equals(drawn)
    by_key = mp.sample(normal, INIT, **options, seed=jax.random.key(5))["posterior"]
    assert mp.sample(normal, INIT, **options, seed=by_key.attrs["seed"])["posterior"].equals(by_key)


def test_versions_are_attributes(tree):
    attrs = tree["posterior"].attrs
    assert attrs["seed"] == 1
    assert attrs["jax_version"] == jax.__version__
    assert {"inference_library_version", "numpy_version", "tuning_steps"} <= set(attrs)
