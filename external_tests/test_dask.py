"""A cluster of Dask's draws the chains of one process, also where a worker is killed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cluster_models import INIT, SETTINGS, build_once_killed, normal, trajectory

import mongepatch as mp

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # of the cluster's own, and runs are short


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "store"])
def test_a_worker_killed_in_mid_run_changes_no_draw(stored, monkeypatch, tmp_path):
    settings = {"chains": 8, "trajectory": trajectory(), **SETTINGS}
    alone = mp.sample(normal, INIT, **settings)
    mark = tmp_path / "mark"
    mark.touch()
    monkeypatch.setenv("MONGEPATCH_TEST_MARK", str(mark))
    monkeypatch.setenv("MONGEPATCH_TEST_MAIN", str(os.getpid()))
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # as here
    options = {"n_workers": 4, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        store = tmp_path / "run.zarr" if stored else None
        tree = mp.sample(build_once_killed, executor=client.get_executor(), store=store, **settings)
    assert not mark.exists()  # a worker has died
    for name in ("a", "b"):
        np.testing.assert_allclose(tree["posterior"][name], alone["posterior"][name], rtol=1e-9, atol=1e-9)


def test_the_example_runs(monkeypatch, tmp_path):
    root = Path(__file__).parent.parent
    shutil.copytree(root / "examples", tmp_path / "examples")
    command = [sys.executable, "examples/dask_cluster.py", "", "4", "30", "60"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False)
    assert "4 chains of 30 draws." in done.stdout, done.stderr
