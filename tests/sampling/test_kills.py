"""Runs that are killed by SIGKILL at random instants, and resumed, end with the draws of a run that nobody killed."""

import multiprocessing
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from long_run import SETTINGS, make_runs

import mongepatch as mp

GROUPS = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats")
QUICK = {"metric": "euclidean", "trajectory": "static"}
"""Warm-up finds step size, inverse mass and length, by programs that are small."""
PATIENCE = 120.0
"""Seconds without a word after which a process is taken to hang."""


@pytest.fixture(scope="module")
def processes():
    """Makes processes that have imported JAX, but not yet begun to use it: that saves half of their time."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no forkserver")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mongepatch.sampling.resume", "arviz_base", "arviz_stats", "xarray", "zarr"])
    return context


class Life:
    """A process that makes runs, and that can be killed."""

    def __init__(self, context, paths, first, programs, settings):
        self._told, telling = context.Pipe(duplex=False)
        arguments = (list(map(str, paths)), first, str(programs), settings, telling)
        self._process = context.Process(target=make_runs, args=arguments, daemon=True)
        self._process.start()
        telling.close()

    def has_made(self, run, draws):
        """Wait until the process has made so many draws of a run; return False where it has left that run."""
        while True:
            if not self._told.poll(PATIENCE):
                self.kill()
                raise TimeoutError(f"Nothing was heard of run {run} for {PATIENCE} seconds.")
            try:
                now, made = self._told.recv()
            except EOFError:
                return False
            if now > run or (now == run and made >= draws):
                return now == run

    def kill(self):
        self._process.kill()
        self._process.join(PATIENCE)
        assert self._process.exitcode in (0, -signal.SIGKILL)
        return self._process.exitcode != 0

    def end(self, last):
        self.has_made(last, np.inf)
        self._process.join(PATIENCE)
        assert self._process.exitcode == 0


def survive(begin, paths, rng):
    """Make runs in processes that are killed. Return for each kill whether the run was in warm-up then.

    Every run is meant to be killed once, and every fourth twice. A process ends the run that the one before it was
    killed in, and begins the next.
    """
    total = SETTINGS["warmup"] + SETTINGS["draws"]
    kills, unfinished, life = [], 0, None
    for run, path in enumerate(paths):
        for draws in sorted(rng.uniform(-0.05 * total, total, size=1 + (run % 4 == 3))):
            life = life or begin(paths, unfinished)
            if life.has_made(run, draws):
                time.sleep(rng.uniform(0, 0.02))
                if life.kill():
                    kills.append(not (path / "zarr.json").exists())
                    unfinished, life = run, None
    (life or begin(paths, unfinished)).end(len(paths) - 1)
    return kills


@pytest.mark.parametrize(
    ("runs", "settings"), [(12, QUICK), pytest.param(160, {}, marks=pytest.mark.slow)], ids=["12", "160"]
)
def test_runs_that_are_killed_at_random_instants_end_as_if_nothing_had_been(runs, settings, processes, tmp_path):
    def begin(paths, first):
        return Life(processes, paths, first, tmp_path / "programs", settings)

    whole = tmp_path / "whole.zarr"
    begin([whole], 0).end(0)
    paths = [tmp_path / f"run-{i}.zarr" for i in range(runs)]
    halves = paths[::2], paths[1::2]
    with ThreadPoolExecutor(2) as pool:  # two processes at a time
        found = pool.map(survive, [begin, begin], halves, map(np.random.default_rng, (runs, runs + 1)))
    kills = [kill for half in found for kill in half]
    assert len(kills) >= runs
    assert 0 < sum(kills) < len(kills)
    expected = mp.open_store(whole)
    for path in paths:
        tree = mp.open_store(path)
        for group in GROUPS:
            assert tree[group].to_dataset().equals(expected[group].to_dataset()), (path, group)
