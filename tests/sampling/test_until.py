"""Runs that stop when they are good enough, thinning, and callbacks."""

import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats

import mongepatch as mp
from mongepatch.sampling.live import LiveDiagnostics
from mongepatch.sampling.until import next_look

OPTIONS = {"metric": mp.Euclidean(), "trajectory": mp.Static(3), "step_size": 0.3, "warmup": 0, "progress": False}


def density(x):
    return -0.5 * (x**2).sum()


def sample(**options):
    return mp.sample(density, jnp.zeros(2), **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def whole():
    return sample(draws=3000)


def posterior(tree, draws=None):
    return tree["posterior"].to_dataset().isel(draw=slice(draws))


def autoregressive(rng, correlation, draws=8000, chains=4, quantities=3):
    noise = rng.normal(size=(draws, chains, quantities)) * np.sqrt(1 - correlation**2)
    values = np.zeros_like(noise)
    values[0] = rng.normal(size=(chains, quantities))
    for i in range(1, draws):
        values[i] = correlation * values[i - 1] + noise[i]
    return values


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_live_figures_are_those_of_arviz_whatever_the_chunks(correlation):
    rng = np.random.default_rng(3)
    values = autoregressive(rng, correlation) * 0.01 + 50.0
    lp = values[..., 0]
    at_once, in_parts = LiveDiagnostics(), LiveDiagnostics()
    at_once.add(values, lp)
    for part in np.split(np.arange(len(values)), np.sort(rng.choice(len(values), 40, replace=False))):
        in_parts.add(values[part], lp[part])
        in_parts = LiveDiagnostics.restored(in_parts.arrays)
    found = at_once.estimates()
    np.testing.assert_allclose(in_parts.estimates(), found, rtol=1e-9)
    centred = values - values.mean(axis=(0, 1))
    quantities = np.concatenate([centred, centred**2], axis=-1)
    sizes = array_stats.ess(quantities, chain_axis=1, draw_axis=0, method="mean")
    hats = [array_stats.rhat(quantities[..., i].T, chain_axis=0, draw_axis=1, method="split") for i in range(6)]
    # Batches leave as many degrees of freedom as there are of them: 4 chains of 64 or more, 2 standard errors of 9%.
    assert found.ess == pytest.approx(sizes.min(), rel=0.2)
    assert found.r_hat == pytest.approx(max(hats), abs=0.003)
    assert np.isnan(LiveDiagnostics().estimates().ess)


@pytest.mark.filterwarnings("ignore:The chains do not agree")  # the targets of these runs are low
def test_a_run_stops_at_its_target_and_the_seed_decides_where(whole, monkeypatch):
    until = mp.Until(ess=300, rhat=1.05, max_draws=3000)
    tree = sample(until=until)
    draws = tree["posterior"].sizes["draw"]
    assert 100 <= draws < 3000
    assert draws in {next_look(n) for n in range(3000)}
    assert posterior(tree).equals(posterior(whole, draws))
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.001)
    assert posterior(sample(until=until)).equals(posterior(tree))


@pytest.mark.filterwarnings("ignore:The chains do not agree")  # the targets of these runs are low
def test_a_store_stops_where_memory_does_and_goes_on_to_another_target(whole, tmp_path):
    first, second = mp.Until(ess=300, rhat=1.05), mp.Until(ess=900, rhat=1.05)
    path = str(tmp_path / "run.zarr")
    objects = {name: OPTIONS[name] for name in ("metric", "trajectory")}
    tree = sample(until=first, draws=2000, store=mp.Store(path, seconds=1e-6))
    assert posterior(tree).equals(posterior(sample(until=first, draws=2000)))
    longer = mp.extend(path, density, draws=2500, until=second, progress=False, **objects)
    draws = longer["posterior"].sizes["draw"]
    assert tree["posterior"].sizes["draw"] < draws < 3000
    assert posterior(longer).equals(posterior(whole, draws))


def test_a_target_that_is_out_of_reach_is_told():
    with pytest.warns(mp.SamplingWarning, match=r"before its target was reached.*of 1,000,000.*mp\.extend"):
        tree = sample(draws=150, until=mp.Until(ess=1e6))
    assert tree["posterior"].sizes["draw"] == 150
    with pytest.warns(mp.SamplingWarning, match="before its target was reached"):
        tree = sample(until=mp.Until(ess=1e9, max_draws=10**9, max_time=0.2))
    assert 0.2 <= tree["posterior"].attrs["sampling_time"] < 5


def test_thinned_draws_are_every_so_many(whole, monkeypatch):
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.0005)
    tree = sample(draws=100, thin=7)
    expected = posterior(whole).isel(draw=slice(6, 100, 7))
    np.testing.assert_array_equal(tree["posterior"]["x"], expected["x"])
    np.testing.assert_array_equal(tree["posterior"]["draw"], np.arange(14))
    assert tree["sample_stats"].sizes["draw"] == 14


def test_a_store_may_be_in_single_precision(whole, tmp_path):
    tree = sample(draws=50, store=mp.Store(tmp_path / "run.zarr", dtype="float32"))
    assert tree["posterior"]["x"].dtype == np.float32
    assert tree["sample_stats"]["lp"].dtype == np.float64
    np.testing.assert_array_equal(tree["posterior"]["x"], posterior(whole, 50)["x"].astype(np.float32))


def test_a_callback_is_told_of_every_chunk():
    told = []
    tree = mp.sample(density, jnp.zeros(2), draws=300, warmup=40, progress=False, callback=told.append)
    assert [status.chunk for status in told] == list(range(len(told)))
    assert told[-1].draws == told[-1].total == 340
    assert [status.is_warmup for status in told] == [status.draws <= 40 for status in told]
    np.testing.assert_array_equal(told[-1].log_density, tree["sample_stats"]["lp"][:, -1])
    assert 1.0 <= told[-1].r_hat < 1.2
    assert np.isnan(told[0].r_hat)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": 400}, r"mp\.Until"),
        ({"thin": 0}, "thin must be at least 1"),
        ({"thin": 20, "draws": 10}, "keeps none of 10 draws"),
        ({"callback": 3}, "callback must be a function"),
        ({"store": 3}, "store must be a path"),
    ],
)
def test_bad_options_are_told(options, message):
    with pytest.raises(mp.SettingError, match=message):
        sample(**options)


@pytest.mark.parametrize("options", [{"ess": 0}, {"rhat": 1.0}, {"max_draws": 0}, {"max_time": -1.0}, {"ess": "many"}])
def test_bad_targets_are_told(options):
    with pytest.raises(mp.SettingError):
        mp.Until(**options)
