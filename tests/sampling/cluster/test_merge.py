"""Chains that were sampled apart are those of one run, draw for draw."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import mongepatch as mp

INIT = {"a": 0.0, "b": jnp.zeros(2)}
QUIET = {"progress": False, "draws": 40}

pytestmark = pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # short runs


def normal(p):
    return -0.5 * (p["a"] ** 2 + ((p["b"] / jnp.array([3.0, 0.1])) ** 2).sum())


def assert_same_draws(one, other):
    for group in ("posterior", "sample_stats"):
        xr.testing.assert_allclose(one[group].to_dataset(), other[group].to_dataset(), rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def warm():
    return mp.sample(normal, INIT, metric="euclidean", trajectory=mp.Static(5), warmup=60, chains=3, **QUIET)


@pytest.mark.parametrize("init", [INIT, None], ids=["around a point", "where warm-up ended"])
def test_the_start_of_a_chain_depends_on_its_number_alone(warm, init):
    target = normal if init else mp.Target.from_density(normal, INIT)
    whole = mp.sample(target, init, tuning=warm, chains=4, **QUIET)
    part = mp.sample(target, init, tuning=warm, chains=2, chain_offset=2, **QUIET)
    assert_same_draws(part, whole.isel(chain=[2, 3]))
    assert list(part["posterior"]["chain"]) == [2, 3]


def test_merged_stores_are_one_run(warm, tmp_path):
    options = {"tuning": warm, "seed": 3, **QUIET}
    whole = mp.sample(normal, INIT, chains=4, **options)
    stores = [str(tmp_path / name) for name in ("b.zarr", "a.zarr")]  # in any order
    for store, first, chains in zip(stores, (2, 0), (2, 2), strict=True):
        mp.sample(normal, INIT, chains=chains, chain_offset=first, store=store, **options)
    tree = mp.merge(stores, mp.Store(tmp_path / "all.zarr", chunk_draws=16))
    assert_same_draws(tree, whole)
    assert tree["tuning"]["position"].shape == (4, 3)
    opened = xr.open_datatree(tmp_path / "all.zarr", engine="zarr")
    assert_same_draws(opened, whole)
    assert opened["posterior"].attrs["seed"] == 3
    longer = mp.extend(tmp_path / "all.zarr", normal, draws=10, progress=False)
    assert_same_draws(longer, mp.extend(whole, normal, draws=10, progress=False))
    assert_same_draws(mp.merge(stores), whole)


def test_merged_results_can_be_extended(warm):
    options = {"tuning": warm, **QUIET}
    start = {"a": np.arange(4.0), "b": np.zeros((4, 2))}
    both = [slice(0, 2), slice(2, 4)]
    parts = [
        mp.sample(
            normal,
            jax.tree.map(lambda leaf, own=own: leaf[own], start),
            init_per_chain=True,
            chains=own.stop - own.start,
            chain_offset=own.start,
            **options,
        )
        for own in both
    ]
    whole = mp.sample(normal, start, init_per_chain=True, chains=4, **options)
    together = mp.merge(parts)
    assert_same_draws(together, whole)
    longer = [mp.extend(tree, normal, draws=10, progress=False) for tree in (together, whole)]
    assert_same_draws(*longer)


def test_a_target_of_a_density_goes_on_from_its_starting_point(warm):
    """Its parameters are a pytree, and a store has them flat."""
    target = mp.Target.from_density(normal, INIT)
    short = mp.sample(target, INIT, tuning=warm, chains=2, **QUIET)
    longer = mp.extend(short, target, draws=10, progress=False)
    whole = mp.sample(target, INIT, tuning=warm, chains=2, progress=False, draws=50)
    assert_same_draws(longer, whole)


def test_runs_that_are_not_parts_of_one_are_refused(warm, tmp_path):
    options = {"tuning": warm, **QUIET, "chains": 2}
    first = mp.sample(normal, INIT, **options)

    def refused(words, density=normal, **changed):
        other = mp.sample(density, INIT, **options | {"chain_offset": 2} | changed)
        with pytest.raises(mp.OtherRunError, match=words):
            mp.merge([first, other])

    refused("no chain may be in both", chain_offset=1)
    refused(r"chains 2 to 3 are missing.*chain_offset=2, chains=2", chain_offset=4)
    refused("other seeds", seed=1)
    refused(r"40 draws.*has 30.*mp\.extend", draws=30)
    refused("thin=1.*has 2: all settings", thin=2)
    refused("other models", density=lambda p: normal(p) - p["a"] ** 4)
    apart = warm["tuning"].to_dataset().assign(step_size=0.1)
    refused("tuned apart", tuning=apart)
    with pytest.raises(mp.SettingError, match="list of stores"):
        mp.merge(str(tmp_path))
