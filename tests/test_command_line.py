"""The command line, at sizes that take seconds."""

import time

import numpy as np
import pytest
from typer.testing import CliRunner

import mongepatch as mp
from mongepatch.cli import app
from mongepatch.sampling import progress


def invoke(*arguments):
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_version():
    assert invoke("--version").strip() == f"mongepatch {mp.__version__}"


def test_demo_looks_for_the_folder_first():
    done = CliRunner().invoke(app, ["demo", "--out", "no/such/folder/demo.png"])
    assert isinstance(done.exception, mp.SettingError)
    assert "no such folder" in str(done.exception)


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")  # it is a fraction of the time of a run
def test_the_progress_bar_costs_less_than_two_percent(monkeypatch):
    """Time spent in the bar itself, as a fraction of the run: steadier than the difference of two runs."""
    spent = []
    honest = progress._BarReport.__call__

    def timed(self, info, seconds):
        started = time.perf_counter()
        honest(self, info, seconds)
        spent.append(time.perf_counter() - started)

    monkeypatch.setattr(progress._BarReport, "__call__", timed)
    rng = np.random.default_rng(270)
    target = mp.targets.logistic_regression(rng.normal(size=(270, 14)), rng.random(270) < 0.5)
    tree = mp.sample(target, metric=mp.Monge(0.1), trajectory=mp.Static(7), step_size=0.1, draws=20_000)
    assert len(spent) > 3
    assert sum(spent) < 0.02 * tree["posterior"].attrs["sampling_time"]
