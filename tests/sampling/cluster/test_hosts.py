"""Processes on several hosts sample one run together: with the draws of one process, one store, and no hang.

Every process is started with a time-out, after which it is killed.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cluster_models import INIT, SETTINGS, normal, trajectory

import mongepatch as mp
from mongepatch.sampling.cluster.hosts import _apart, _together

PROGRAM = Path(__file__).parent / "host_program.py"
MOST_SECONDS = 300.0
CHAINS = 8

pytestmark = pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # short runs


def free_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def run_hosts(count, store, fault="", *, timeout=None):
    """Run the program in so many processes; return the exit code and the messages of each."""
    port = str(free_port())
    # Programs that are compiled quickly round differently in groups of other sizes, and warm-up amplifies it.
    environment = {"MONGEPATCH_QUICK_COMPILE": "0"} | ({"MONGEPATCH_HOST_TIMEOUT": str(timeout)} if timeout else {})
    arguments = [
        [sys.executable, str(PROGRAM), port, str(count), str(index), str(store), fault] for index in range(count)
    ]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    processes = [subprocess.Popen(each, env=os.environ | environment, **settings) for each in arguments]
    try:
        return [(process.communicate(timeout=MOST_SECONDS)[0], process.returncode) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The run of one process."""
    store = tmp_path_factory.mktemp("alone") / "run.zarr"
    ((output, code),) = run_hosts(1, store)
    assert code == 0, output
    return mp.open_store(store)


def assert_same_draws(store, alone):
    tree = mp.open_store(store)
    for name in ("a", "b"):
        np.testing.assert_allclose(tree["posterior"][name], alone["posterior"][name], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(tree["sample_stats"]["n_steps"], alone["sample_stats"]["n_steps"])
    assert not Path(f"{store}.parts").exists()


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_draws_are_those_of_one_process(count, alone, tmp_path):
    store = tmp_path / "run.zarr"
    for output, code in run_hosts(count, store):
        assert code == 0, output
        assert f"'chain': {CHAINS}, 'draw': 40" in output  # every process has the whole result
    assert_same_draws(store, alone)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill-warmup", "kill-draws"])
def test_a_process_that_dies_is_reported_by_all_others_and_the_store_resumes(fault, alone, tmp_path):
    store = tmp_path / "run.zarr"
    *others, (_, code) = run_hosts(4, store, fault, timeout=5)
    assert code == -9
    for output, code in others:
        assert code != 0
        assert "HostLostError" in output
        assert "process 3 has given no sign of life for 5 seconds" in output
    assert not store.exists()
    assert Path(f"{store}.parts").exists() == (fault == "kill-draws")
    for output, code in run_hosts(2, store):  # by other processes than before
        assert code == 0, output
    assert_same_draws(store, alone)


@pytest.mark.slow
def test_one_process_ends_a_run_of_several(alone, tmp_path):
    store = tmp_path / "run.zarr"
    run_hosts(2, store, "kill-draws", timeout=5)
    with pytest.raises(mp.StoreError, match=r"parts of a run already.*mp\.resume"):
        mp.sample(normal, INIT, chains=CHAINS, store=store, executor=print, **SETTINGS)
    mp.resume(store, normal, trajectory=trajectory(), progress=False)
    assert_same_draws(store, alone)


def test_what_processes_say_is_kept_apart():
    said = [b"", b"abc", bytes(range(256))]
    assert _apart(_together(said)) == said
