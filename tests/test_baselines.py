"""BlackJAX's samplers behind our interface: right moments, and the names, shapes and costs that `sample` has."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from helpers import run_python, slow_but, without

import mongepatch as mp
from mongepatch import baselines

STATS = {"lp", "acceptance_rate", "step_size", "n_steps", "n_grad", "diverging", "energy"}
ATTRS = {"sampler", "sampling_time", "warmup_time", "tuning_steps", "warmup_n_grad"}
MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[4.0, 1.5, 0.0], [1.5, 1.0, -0.2], [0.0, -0.2, 0.25]])
PRECISION = jnp.asarray(np.linalg.inv(COVARIANCE))


def gaussian(parameters):
    x = jnp.append(parameters["b"]["c"], parameters["a"]) - MEAN
    return -0.5 * x @ PRECISION @ x


INIT = {"a": 0.0, "b": {"c": jnp.zeros(2)}}
METHODS = {
    "nuts": lambda *args, **options: mp.baselines.nuts(*args, **options),
    "nuts, dense": lambda *args, **options: mp.baselines.nuts(*args, **options, dense_mass=True),
    "hmc": lambda *args, **options: mp.baselines.hmc(*args, **options, num_steps=5),
}


def assert_mean(values, expected):
    """Means over draws of independent chains, within four standard errors."""
    of_chains = np.asarray(values).mean(axis=1)
    errors = of_chains.std(axis=0, ddof=1) / np.sqrt(len(of_chains))
    assert (np.abs(of_chains.mean(axis=0) - expected) < 4 * errors).all()


CHAINS, DRAWS, WARMUP = 100, 200, 300


@functools.cache
def tree_of(name):
    """A run of a method: two tests look at it."""
    settings = {"chains": CHAINS, "draws": DRAWS, "warmup": WARMUP, "target_acceptance": 0.7}
    return METHODS[name](gaussian, INIT, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_moments_of_a_correlated_gaussian(name):
    tree = tree_of(name)
    posterior, stats = tree["posterior"], tree["sample_stats"]
    x = np.concatenate([posterior["b.c"].values, posterior["a"].values[..., None]], axis=-1)
    assert_mean(x, MEAN)
    centered = x - MEAN
    assert_mean(centered[..., :, None] * centered[..., None, :], COVARIANCE)
    # The energy is that of the draw, also where the trajectory's end was rejected: what remains is kinetic.
    assert_mean(stats["energy"] + stats["lp"], len(MEAN) / 2)
    assert (stats["energy"] + stats["lp"] > 0).all()
    if name == "hmc":
        assert (~stats["accepted"]).any()


@pytest.mark.parametrize("name", slow_but(METHODS, "hmc"))
def test_tree_has_the_schema_of_sample(name):
    tree = tree_of(name)
    assert isinstance(tree, xr.DataTree)
    assert set(tree.children) == {"posterior", "sample_stats"}
    assert dict(tree["posterior"].sizes) == {"chain": CHAINS, "draw": DRAWS, "b.c_dim_0": 2}
    assert set(tree["posterior"].data_vars) == {"a", "b.c"}
    stats = tree["sample_stats"]
    assert set(stats.data_vars) == STATS | ({"accepted"} if name == "hmc" else {"tree_depth", "reached_max_treedepth"})
    assert all(stats[variable].dims == ("chain", "draw") for variable in stats.data_vars)
    assert stats["diverging"].dtype == bool
    assert np.issubdtype(stats["n_steps"].dtype, np.integer)
    np.testing.assert_array_equal(stats["n_grad"], stats["n_steps"])
    assert len(np.unique(stats["step_size"])) == CHAINS  # every chain has its own
    draw = {"a": tree["posterior"]["a"].values[1, 2], "b": {"c": tree["posterior"]["b.c"].values[1, 2]}}
    assert stats["lp"].values[1, 2] == pytest.approx(gaussian(draw))
    for group in tree.children:
        attrs = tree[group].attrs
        assert attrs.keys() >= ATTRS
        assert attrs["inference_library"] == "blackjax"
        assert attrs["sampler"] == name.split(",")[0]
        assert attrs["tuning_steps"] == WARMUP
        assert attrs["sampling_time"] > 0
        assert attrs["warmup_time"] > 0
        assert type(attrs["warmup_n_grad"]) is int
        assert attrs["warmup_n_grad"] >= CHAINS * WARMUP
    if name == "hmc":
        assert (stats["n_steps"] == 5).all()
        assert tree["posterior"].attrs["warmup_n_grad"] == CHAINS * WARMUP * 5


@pytest.mark.slow
def test_trees_are_no_deeper_than_asked():
    tree = mp.baselines.nuts(lambda x: -0.5 * x @ x, jnp.zeros(10), max_depth=2, draws=50, warmup=100)
    stats = tree["sample_stats"]
    assert stats["tree_depth"].max() == 2
    assert stats["n_steps"].max() == 3
    assert stats["reached_max_treedepth"].any()
    assert (stats["tree_depth"].values[stats["reached_max_treedepth"].values] == 2).all()


def test_a_target_brings_its_starts_names_and_labels():
    target = mp.datasets.load("heart").target()
    tree = mp.baselines.hmc(target, num_steps=3, draws=5, warmup=5, chains=2)
    beta = tree["posterior"]["beta"]
    assert beta.dims == ("chain", "draw", "column")
    assert list(beta.coords["column"].values[:2]) == ["intercept", "age"]


@pytest.mark.slow
def test_the_seed_decides_everything_and_chains_start_where_those_of_sample_do(monkeypatch):
    def run(seed, chains=4):
        return mp.baselines.hmc(gaussian, INIT, num_steps=3, draws=5, warmup=20, seed=seed, chains=chains)["posterior"]

    assert run(3).equals(run(3))
    assert not run(3).equals(run(4))
    xr.testing.assert_allclose(run(3).isel(chain=slice(2)).to_dataset(), run(3, chains=2).to_dataset())

    class Started(Exception):  # noqa: N818  # no error
        pass

    def stop(function, keys, positions, *args, **settings):
        raise Started(positions)

    monkeypatch.setattr(baselines, "_timed", stop)
    with pytest.raises(Started) as caught:
        run(3)
    still = {"metric": mp.Euclidean(), "trajectory": mp.Static(1), "step_size": 1e-6, "draws": 1, "warmup": 0}
    posterior = mp.sample(gaussian, INIT, **still, seed=3, progress=False)["posterior"]
    np.testing.assert_allclose(caught.value.args[0][:, 0], posterior["a"].values[:, 0], atol=1e-4)


def test_precision_is_that_of_jax():
    """BlackJAX's adaptation works in no other; the density may still hold data of lower precision."""
    center = jnp.ones(2, jnp.float32)
    tree = mp.baselines.hmc(lambda x: -0.5 * ((x - center) ** 2).sum(), center, num_steps=2, draws=5, warmup=30)
    assert tree["posterior"]["x"].dtype == np.float64


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: mp.baselines.nuts(gaussian), mp.ParameterError, "Give init"),
        (lambda: mp.baselines.nuts(gaussian, INIT, max_depth=0), mp.SettingError, "max_depth must be at least 1"),
        (lambda: mp.baselines.nuts(gaussian, INIT, warmup=0), mp.SettingError, "warmup must be at least 1"),
        (lambda: mp.baselines.nuts(gaussian, INIT, target_acceptance=1.0), mp.SettingError, "must be between 0 and 1"),
        (lambda: mp.baselines.hmc(gaussian, INIT, num_steps=0), mp.SettingError, "num_steps must be at least 1"),
        (lambda: mp.baselines.hmc(lambda x: -jnp.inf * x, 1.0, num_steps=1), mp.LogDensityError, "starting point"),
    ],
)
def test_nonsense_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_missing_blackjax_is_named():
    code = "import jax.numpy as jnp, mongepatch as mp; mp.baselines.nuts(lambda x: -x @ x, jnp.zeros(2))"
    done = run_python(without("blackjax") + code)
    assert 'pip install "mongepatch[sample]"' in done.stderr
    assert "MissingExtraError" in done.stderr


@pytest.mark.slow
def test_variables_are_those_of_the_target():
    target = mp.Target.from_density(lambda x: -0.5 * x @ x, jnp.zeros(2))
    target = dataclasses.replace(target, constrain=lambda x: {"scale": jnp.exp(x[0]), "rest": x[1:]})
    posterior = baselines.nuts(target, jnp.zeros(2), draws=50, warmup=50)["posterior"].to_dataset()
    assert {name: posterior[name].shape for name in posterior} == {"scale": (4, 50), "rest": (4, 50, 1)}
    assert (posterior["scale"] > 0).all()
