"""Groups of chains as tasks of an executor: the draws of one process, also where a worker dies."""

import multiprocessing
import os
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import jax.numpy as jnp
import pytest
import xarray as xr
from cluster_models import INIT, SETTINGS, build, build_once_killed, normal, trajectory

import mongepatch as mp
from mongepatch.sampling.cluster.model import Model, built
from mongepatch.sampling.cluster.tasks import run_tasks, workers_of

pytestmark = pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # short runs


@pytest.fixture(scope="module")
def alone():
    return mp.sample(normal, INIT, chains=4, trajectory=trajectory(), **SETTINGS)


def assert_same_draws(one, other):
    for group in ("posterior", "sample_stats"):
        xr.testing.assert_allclose(one[group].to_dataset(), other[group].to_dataset(), rtol=1e-9, atol=1e-9)


def pool():
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


@pytest.fixture
def one_death(monkeypatch, tmp_path):
    """The first worker that builds the model is killed."""
    mark = tmp_path / "mark"
    mark.touch()
    monkeypatch.setenv("MONGEPATCH_TEST_MARK", str(mark))
    monkeypatch.setenv("MONGEPATCH_TEST_MAIN", str(os.getpid()))
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # as here
    return mark


def test_a_worker_that_dies_changes_no_draw(alone, one_death, tmp_path):
    settings = {"chains": 4, "trajectory": trajectory(), **SETTINGS}
    tree = mp.sample(build_once_killed, executor=pool, chains_per_task=4, store=tmp_path / "run.zarr", **settings)
    assert not one_death.exists()  # somebody has died
    assert_same_draws(tree, alone)
    assert tree["posterior"].attrs["seed"] == SETTINGS["seed"]
    longer = mp.extend(tmp_path / "run.zarr", normal, draws=5, trajectory=trajectory(), progress=False)
    assert_same_draws(longer, mp.extend(alone, normal, draws=5, trajectory=trajectory(), progress=False))


def test_threads_are_workers_too(alone):
    with ThreadPoolExecutor(2) as threads:
        tree = mp.sample("cluster_models:build", executor=threads, chains=4, trajectory=trajectory(), **SETTINGS)
    assert_same_draws(tree, alone)
    longer = [mp.extend(run, normal, draws=5, trajectory=trajectory(), progress=False) for run in (tree, alone)]
    assert_same_draws(*longer)


@pytest.mark.slow
def test_a_worker_of_loky_that_dies_changes_no_draw(alone, one_death):
    loky = pytest.importorskip("loky")
    executor = partial(loky.get_reusable_executor, max_workers=2)
    options = {"executor": executor, "chains_per_task": 2, "chains": 4, "trajectory": trajectory()}
    assert_same_draws(mp.sample(build_once_killed, **options, **SETTINGS), alone)
    assert not one_death.exists()


class Unreliable:
    """Does a task at once, or loses it."""

    def __init__(self, losses, error):
        self.losses, self.error = losses, error

    def submit(self, work, *arguments):
        future = Future()
        if self.losses[0]:
            self.losses[0] -= 1
            future.set_exception(self.error("lost"))
        else:
            future.set_result(work(*arguments))
        return future

    def shutdown(self, wait):
        pass


class KilledWorker(Exception):  # noqa: N818  # the name by which it is known
    """As of dask.distributed."""


@pytest.mark.parametrize("error", [KilledWorker, BrokenExecutor])
def test_lost_tasks_are_done_again(error):
    assert run_tasks(Unreliable([2], error), abs, [(-1,), (-2,), (3,)]) == [1, 2, 3]


def test_what_is_lost_again_and_again_is_told():
    with pytest.raises(mp.WorkerError, match=r"lost 4 times.*chains_per_task"):
        run_tasks(Unreliable([100], KilledWorker), abs, [(1,)])


def test_errors_of_the_model_are_not_repeated():
    with pytest.raises(ZeroDivisionError):
        run_tasks(ThreadPoolExecutor(1), divmod, [(1, 0)])


def test_a_broken_executor_asks_for_a_function():
    broken = ThreadPoolExecutor(1)
    broken.shutdown()
    with pytest.raises(mp.WorkerError, match="function that makes executors"):
        run_tasks(broken, abs, [(1,)])
    made = [broken, ThreadPoolExecutor(1)]
    assert run_tasks(lambda: made.pop(0), abs, [(-1,)]) == [1]


def test_how_many_groups():
    assert workers_of(ThreadPoolExecutor(3)) == 3
    assert workers_of(lambda: None) == 16


def test_a_model_that_cannot_be_sent_is_answered_with_how_it_can():
    lock = multiprocessing.get_context("spawn").Lock()
    density = partial(lambda lock, p: normal(p), lock)
    with pytest.raises(mp.TransportError, match="function without arguments"):
        Model(density, None, {}).packed()
    with pytest.raises(mp.TransportError, match="A worker cannot load the model"):
        Model.unpacked(b"cno_such_module\nnothing\n.")


def test_models_are_built():
    assert built(normal, INIT) == (normal, INIT)
    assert built(build) == (normal, INIT) == built("cluster_models:build")
    assert built(lambda: normal, INIT) == (normal, INIT)
    target = mp.targets.banana()
    assert built(target) == (target, None)
    for name in ("no_such_module:build", "cluster_models:no", "cluster_models:INIT"):
        with pytest.raises(mp.SettingError, match="function"):
            built(name)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"executor": 3}, "Executor"),
        ({"chains_per_task": 2}, "for executor="),
        ({"executor": print, "until": mp.Until(ess=10)}, "until is for runs in one process"),
        ({"executor": print, "callback": print}, "callback is for runs in one process"),
        ({"executor": print, "save_warmup": True}, "save_warmup is for runs in one process"),
        ({"executor": print, "chains_per_task": 0}, "chains_per_task must be at least 1"),
        ({"devices": 0}, "devices must be at least 1"),
        ({"devices": 99}, "this process has 1 of the kind cpu"),
        ({"devices": ["gpu"]}, "list of different devices"),
        ({"chain_offset": -1}, "chain_offset must be at least 0"),
        ({"chain_offset": 2**31}, "at most"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, words):
    with pytest.raises(mp.SettingError, match=words):
        mp.sample(normal, INIT, **{"metric": mp.Euclidean(), "warmup": 5, "draws": 5, "progress": False} | settings)


def test_a_store_of_several_processes_has_a_name():
    zarr = pytest.importorskip("zarr")
    options = {"metric": mp.Euclidean(), "warmup": 5, "draws": 5, "progress": False, "executor": print}
    with pytest.raises(mp.StoreError, match="path or a URL"):
        mp.sample(lambda x: -x @ x, jnp.zeros(1), store=zarr.storage.MemoryStore(), **options)
