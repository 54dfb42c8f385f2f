"""Maps that make coordinates normal one by one, where draws ask for them."""

import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import sample_quietly
from scipy import stats

import mongepatch as mp
from mongepatch.chains.chunks import compiled_programs
from mongepatch.chains.effective_size import smallest_ess
from mongepatch.warmup import choose_metric
from mongepatch.warmup.efficiency import TrialStatistics
from mongepatch.warmup.maps import choose_maps, words

SHAPES = np.array([0.1, 0.1, 0.3, 1.0, 20.0])
quiet = functools.partial(sample_quietly, progress=False)


def gammas():
    """Logarithms of the first variables have a long tail on the left, and end abruptly on the right."""
    numpyro.sample("x", dist.Gamma(SHAPES).to_event(1))


def mapped(maps):
    return np.asarray(maps.is_mapped)


def log_gamma_gradients(draws):
    return SHAPES - np.exp(draws)


def test_only_coordinates_that_are_not_normal_are_mapped():
    draws = np.log(np.random.default_rng(0).gamma(SHAPES, size=(1000, 5)))
    maps = choose_maps(draws, log_gamma_gradients(draws), float)
    np.testing.assert_array_equal(mapped(maps), [True, True, True, True, False])
    assert words(maps) == "4 of 5 coordinates made normal"


@pytest.mark.parametrize("count", [80, 320, 1000])
def test_normal_draws_are_left_as_they_are(count):
    draws = np.random.default_rng(1).normal(size=(count, 40))
    maps = choose_maps(draws, -draws, float)
    assert not mapped(maps).any()
    assert words(maps) == ""


@pytest.mark.parametrize("seed", range(4))
def test_a_ridge_is_not_bent(seed):
    """Two coordinates with a long tail whose difference is narrow: maps of each alone would make it narrower still."""
    rng, width = np.random.default_rng(seed), 0.01
    first = np.log(rng.gamma(0.1, size=1000))
    second = first + width * rng.normal(size=1000)
    pull = (second - first) / width**2
    draws, gradients = np.column_stack([first, second]), np.column_stack([0.1 - np.exp(first) + pull, -pull])
    assert not mapped(choose_maps(draws, gradients, float)).any()


def test_draws_that_never_change_are_left_as_they_are():
    draws = np.log(np.random.default_rng(0).gamma(SHAPES, size=(1000, 5)))
    draws[:, 1] = 3.0
    maps = choose_maps(draws, log_gamma_gradients(draws), float)
    assert not mapped(maps)[1]
    assert all(np.isfinite(part).all() for part in maps)


@pytest.fixture(scope="module")
def trees():
    target = mp.from_numpyro(gammas)
    return quiet(target, trajectory="nuts"), quiet(target, trajectory="nuts", whiten=False)


def test_long_tails_take_fewer_steps_and_mix_better(trees):
    """Half the steps, and twice the effective draws of logarithms."""
    by_maps, plain = trees
    assert by_maps["posterior"].attrs["chosen"].startswith("4 of 5 coordinates made normal; metric Euclidean")
    assert "normal" not in plain["posterior"].attrs["chosen"]
    steps = [float(tree["sample_stats"]["n_steps"].mean()) for tree in trees]
    sizes = [smallest_ess(np.log(np.asarray(tree["posterior"]["x"]))) for tree in trees]
    assert steps[0] < 0.5 * steps[1]
    assert sizes[0] > 2 * sizes[1]


def test_draws_are_right(trees):
    """Quantiles far out on both sides, within four standard errors from batches longer than the autocorrelation."""
    draws = np.asarray(trees[0]["posterior"]["x"])
    for i, shape in enumerate(SHAPES):
        for probability in (0.01, 0.1, 0.5, 0.9, 0.99):
            below = draws[..., i] < stats.gamma(shape).ppf(probability)
            batches = below.reshape(4 * 20, -1).mean(axis=1)
            error = batches.std(ddof=1) / np.sqrt(len(batches))
            assert abs(below.mean() - probability) < 4.0 * error


def test_a_density_of_ones_own_keeps_its_coordinates():
    tree = quiet(lambda x: SHAPES @ x - jnp.exp(x).sum(), jnp.zeros(5), trajectory="nuts", warmup=400, draws=50)
    assert "normal" not in tree["posterior"].attrs["chosen"]
    assert "outer_center" not in tree["tuning"]


def test_without_a_mapped_coordinate_draws_are_those_without_maps():
    """Up to rounding: warm-up chooses the same."""

    def model():
        numpyro.sample("x", dist.Gamma(jnp.array([20.0, 50.0, 30.0])).to_event(1))

    with_maps, plain = (
        quiet(mp.from_numpyro(model), warmup=300, draws=50, whiten=whiten) for whiten in ("auto", False)
    )
    assert "outer_skew" in with_maps["tuning"]
    assert "normal" not in with_maps["posterior"].attrs["chosen"]
    np.testing.assert_allclose(with_maps["posterior"]["x"], plain["posterior"]["x"], rtol=1e-7)


def test_other_maps_compile_nothing():
    target = mp.from_numpyro(gammas)
    options = {"draws": 20, "warmup": 250, "trajectory": "nuts"}  # too few to try another metric
    first = quiet(target, **options)
    before = compiled_programs()
    other = quiet(target, **options, seed=1)
    assert compiled_programs() == before
    found = [np.asarray(tree["tuning"]["outer_skew"]) for tree in (first, other)]
    assert all((skew[:2] != 0.0).all() for skew in found)
    assert not np.array_equal(*found)


def test_maps_come_back():
    target = mp.from_numpyro(gammas)
    first = quiet(target, draws=20, warmup=250, trajectory="nuts")
    again = quiet(target, tuning=first, draws=20)
    for name in ("center", "scale", "skew", "tail"):
        np.testing.assert_array_equal(first["tuning"][f"outer_{name}"], again["tuning"][f"outer_{name}"])
    np.testing.assert_allclose(np.exp(first["tuning"]["position"]), first["posterior"]["x"].isel(draw=-1), rtol=1e-10)
    with pytest.raises(mp.SettingError, match="in coordinates made normal"):
        mp.sample(target, tuning=first, whiten=False, draws=20, progress=False)


def test_single_precision_is_enough():
    draws = np.log(np.random.default_rng(0).gamma(SHAPES, size=(1000, 5)))
    maps = choose_maps(draws, log_gamma_gradients(draws), jnp.float32)
    assert all(part.dtype == jnp.float32 for part in maps)
    u = jax.vmap(maps.inverse)(jnp.asarray(draws, jnp.float32))
    back = jax.vmap(lambda u: maps.forward(u)[0])(u)
    np.testing.assert_allclose(back, draws, rtol=1e-3, atol=1e-3)


def test_many_chains_are_mapped_by_the_draws_of_some(monkeypatch):
    def model():
        numpyro.sample("x", dist.StudentT(2.5).expand([3]).to_event(1))

    monkeypatch.setattr("mongepatch.warmup.state._LOOKED_AT", 64)
    tree = quiet(mp.from_numpyro(model), chains=256, warmup=90, draws=5)  # too few to choose a metric
    assert "coordinates made normal" in tree["posterior"].attrs["chosen"]


def test_a_patch_that_is_tried_in_vain_leaves_the_coordinates_as_they_were(monkeypatch):
    def model():
        numpyro.sample("x", dist.Gamma(jnp.array([20.0, 50.0, 30.0])).to_event(1))

    monkeypatch.setattr(choose_metric, "_needs_patch", lambda *_: True)
    monkeypatch.setattr(choose_metric, "unstable_fraction", lambda *_: 0.0)
    monkeypatch.setattr(choose_metric, "_PATCH_GAIN", np.inf)
    monkeypatch.setattr(TrialStatistics, "diverges", True)
    tree = quiet(mp.from_numpyro(model), warmup=300, draws=10)
    assert tree["posterior"].attrs["metric"] != "Patch"
    assert "outer_skew" in tree["tuning"]


def test_no_map_is_fitted_to_normal_draws(monkeypatch):
    monkeypatch.setattr("mongepatch.warmup.maps.fit", lambda *_: pytest.fail("was fitted"))
    draws = np.random.default_rng(0).normal(size=(2000, 5))
    assert not mapped(choose_maps(draws, -draws, float)).any()


def test_few_normal_draws_are_seldom_looked_at(monkeypatch):
    """Their third and fourth moments promise something by chance, the more the fewer they are."""
    looked = []
    monkeypatch.setattr("mongepatch.warmup.maps._Halves", lambda *_: looked.append(1) or (_ for _ in ()).throw(OSError))
    for seed in range(20):
        draws = np.random.default_rng(seed).normal(size=(160, 14))
        with contextlib.suppress(OSError):
            choose_maps(draws, -draws, float)
    assert len(looked) <= 4
