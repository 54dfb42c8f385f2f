"""Runs that are cut off, resumed and extended give the draws of one run without a break."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import slow_but
from long_run import SETTINGS, begin_or_resume, density

import mongepatch as mp
from mongepatch.store.files import Folder

pytestmark = pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # runs are short

GROUPS = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats")


def assert_same(tree, other, groups=GROUPS):
    for group in groups:
        assert tree[group].to_dataset().equals(other[group].to_dataset()), group


@pytest.fixture(scope="module")
def whole():
    """The run in memory, without a break."""
    return mp.sample(density, jnp.zeros(3), progress=False, **SETTINGS)


CUTS = [(70, 40), (3, 1), *((n, 2 * n) for n in range(1, 140, 7))]
"""Numbers of files after which the power is cut: in warm-up and later, and at the change from one to the other."""


class PowerCut(BaseException):
    pass


@pytest.fixture
def cut_after(monkeypatch):
    """Lets so many files be written, and no more until it is called again."""
    honest = Folder.write
    left = [np.inf]

    def write(self, name, content):
        if left[0] <= 0:
            raise PowerCut
        left[0] -= 1
        honest(self, name, content)

    monkeypatch.setattr(Folder, "write", write)
    return lambda count: left.__setitem__(0, count)


def run_with_cuts(path, cuts, cut_after):
    """Run with a power cut after each of these numbers of files; then to the end. Return how many cuts there were."""
    met = 0
    for cut in cuts:
        cut_after(cut)
        try:
            begin_or_resume(path)
            break
        except PowerCut:
            met += 1
    cut_after(np.inf)
    return met, begin_or_resume(path)


@pytest.mark.parametrize("cuts", [pytest.param(cuts, marks=[pytest.mark.slow] * (cuts != CUTS[0])) for cuts in CUTS])
def test_a_power_cut_after_any_file_loses_nothing(cuts, whole, tmp_path, cut_after, monkeypatch):
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.003)  # some draws in a chunk
    met, tree = run_with_cuts(str(tmp_path / "run.zarr"), cuts, cut_after)
    assert met
    assert_same(tree, whole)
    assert_same(mp.open_store(tmp_path / "run.zarr"), whole)


def test_more_draws_are_those_of_a_longer_run(whole, tmp_path):
    """In memory and in a store."""
    longer = SETTINGS | {"draws": SETTINGS["draws"] + 51}
    expected = mp.sample(density, jnp.zeros(3), progress=False, **longer)
    assert_same(mp.extend(whole, density, draws=51, progress=False), expected)
    path = str(tmp_path / "run.zarr")
    begin_or_resume(path)
    assert_same(mp.extend(path, density, draws=51, progress=False), expected)
    assert_same(mp.resume(path, density, progress=False), expected)  # nothing is left to do


@pytest.mark.parametrize("kind", ["fsspec", "obstore"])
def test_a_run_goes_to_other_locations_than_folders(kind, whole, tmp_path):
    if kind == "fsspec":
        location = f"memory://{tmp_path.name}/run.zarr"
    else:
        memory = pytest.importorskip("obstore").store.MemoryStore()
        location = pytest.importorskip("zarr").storage.ObjectStore(memory)
    shorter = SETTINGS | {"draws": SETTINGS["draws"] - 50}
    mp.sample(density, jnp.zeros(3), store=location, progress=False, **shorter)
    assert_same(mp.extend(location, density, draws=50, progress=False), whole)
    assert_same(mp.open_store(location), whole)


def tuned(name):
    """Runs whose warm-up changes metric, trajectory or coordinates, and that have states of several kinds."""
    schools_scale = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def hierarchy(p):
        deviations = (p["theta"] - p["mu"]) / jnp.exp(p["log_tau"])
        prior = -0.5 * (p["mu"] / 5.0) ** 2 - 0.5 * p["log_tau"] ** 2 - 8.0 * p["log_tau"]
        return prior - 0.5 * (deviations**2).sum() - 0.5 * (((p["theta"] - 5.0) / schools_scale) ** 2).sum()

    start = {"mu": 0.0, "log_tau": 0.0, "theta": jnp.zeros(8)}
    bend = mp.Dense(lambda x: jnp.eye(2) * (1.0 + x @ x))

    def gammas():
        numpyro.sample("x", dist.Gamma(jnp.array([0.1, 0.2])).to_event(1))

    return {
        "whitened": (hierarchy, start, {"warmup": 300}, {}),
        "mapped": (mp.from_numpyro(gammas), None, {"warmup": 250, "trajectory": "nuts"}, {}),
        "patch": (hierarchy, start, {"warmup": 300, "metric": "patch"}, {}),
        "given": (
            mp.targets.banana(),
            None,
            {"warmup": 0, "step_size": 0.1},
            {"metric": mp.Monge(0.5), "trajectory": mp.NUTS(5)},
        ),
        "mmala": (mp.targets.banana(), None, {"warmup": 60}, {"metric": bend, "kernel": "mmala", "trajectory": None}),
        "monge": (mp.targets.funnel(2), None, {"warmup": 400, "metric": "monge", "keep": ["a"]}, {}),
    }[name]


@pytest.mark.parametrize(
    "name", slow_but(("whitened", "mapped", "patch", "given", "mmala", "monge"), "whitened", "mapped", "given")
)
def test_every_kind_of_run_goes_on(name, tmp_path, cut_after, monkeypatch):
    target, init, plain, objects = tuned(name)
    options = {"draws": 40, "chains": 2, "progress": False, **plain, **objects}
    again = {key: value for key, value in objects.items() if not isinstance(value, str | None)}
    expected = mp.sample(target, init, **options)
    extended = mp.extend(mp.sample(target, init, **options | {"draws": 17}), target, draws=23, progress=False, **again)
    assert_same(extended, expected, ("posterior", "sample_stats"))
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.01)
    path = str(tmp_path / "run.zarr")
    cut_after(12)
    with pytest.raises(PowerCut):
        mp.sample(target, init, store=mp.Store(path, seconds=1e-6, chunk_draws=8), **options)
    cut_after(np.inf)
    tree = mp.resume(path, target, progress=False, **again)
    assert_same(tree, expected, ("posterior", "sample_stats"))
