"""Chains on eight devices make the draws that they make on one."""

import pytest
from helpers import run_python

CODE = """
import jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)
import jax.numpy as jnp, numpy as np, pytest, warnings
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import mongepatch as mp
warnings.simplefilter("ignore", mp.SamplingWarning)
assert len(jax.devices()) == 8

def density(p):
    return -0.5 * (p["a"] ** 2 + ((p["b"] - p["a"]) ** 2).sum()) - 0.1 * (p["b"] ** 4).sum()

init = {"a": 0.0, "b": jnp.zeros(2)}

def draws(**options):
    tree = mp.sample(density, init, **{"metric": "euclidean", "draws": 20, "progress": False} | options)
    return tree["posterior"]["b"].values, tree["sample_stats"]["n_steps"].values
"""

STATIC = """
options = {"chains": 16, "trajectory": mp.Static(5), "warmup": 40}
one, many = draws(devices=1, **options), draws(devices=8, **options)
np.testing.assert_allclose(one[0], many[0], rtol=1e-7, atol=1e-7)
with pytest.raises(mp.SettingError, match="12 chains .* 8 devices: give chains=16, or devices=6"):
    draws(chains=12, devices=8)
"""

OTHERS = """
for options in (
    {"chains": 1024, "trajectory": "nuts", "warmup": 30},  # each at its own pace
    {"chains": 16, "trajectory": "nuts", "warmup": 100},
    {"chains": 4, "trajectory": mp.Static(5), "warmup": 0, "step_size": 0.1},
):
    if options["warmup"] == 0:
        options |= {"metric": mp.Euclidean()}
    one = draws(devices=1, **options)
    for devices in (4, jax.devices()[4:]):
        many = draws(devices=devices, **options)
        np.testing.assert_allclose(one[0], many[0], rtol=1e-6, atol=1e-6)

# Data that is divided already: computation follows it.
data = np.random.default_rng(0).normal(size=800)
divided = jax.device_put(data, NamedSharding(Mesh(jax.devices(), ("data",)), PartitionSpec("data")))
def model(data):
    return lambda p: -0.5 * (p @ p + ((data - p[0]) ** 2).sum())
settings = {"metric": mp.Euclidean(), "trajectory": mp.Static(5), "step_size": 0.01, "warmup": 0, "draws": 20,
            "progress": False}
one, many = (mp.sample(model(values), jnp.zeros(2), **settings)["posterior"]["x"] for values in (data, divided))
np.testing.assert_allclose(one, many, rtol=1e-9, atol=1e-9)
with pytest.raises(mp.SettingError, match="divided among several devices already"):
    mp.sample(model(divided), jnp.zeros(2), devices=2, **settings)

# A store, and a result that goes on with other devices.
settings |= {"chains": 8, "seed": 1}
whole = mp.sample(density, init, **settings | {"draws": 30})
short = mp.sample(density, init, devices=8, store="run.zarr", **settings)
longer = mp.extend("run.zarr", density, draws=10, progress=False, metric=settings["metric"],
                   trajectory=settings["trajectory"])
np.testing.assert_allclose(longer["posterior"]["b"], whole["posterior"]["b"], rtol=1e-9, atol=1e-9)
"""


def passes(code):
    # Programs that are compiled quickly round differently in groups of other sizes, and warm-up amplifies it.
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "MONGEPATCH_QUICK_COMPILE": "0"}
    done = run_python(CODE + code, **flags)
    assert done.returncode == 0, done.stderr[-3000:]


def test_draws_of_static_trajectories():
    passes(STATIC)


@pytest.mark.slow
def test_draws_of_nuts_and_of_data_on_devices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    passes(OTHERS)
