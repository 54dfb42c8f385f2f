"""`mongepatch sample`, `resume`, `extend` and `summary`, with exit codes and JSON that a script can use."""

import json
import signal
import sys

import pytest
from typer.testing import CliRunner

import mongepatch as mp
from mongepatch.cli import app
from mongepatch.sampling import watch
from mongepatch.store import RunStore

MODEL = """
import jax.numpy as jnp
init = {"a": 0.0, "b": jnp.zeros(2)}
def target(p):
    return -0.5 * (p["a"] ** 2 + (p["b"] ** 2).sum())
"""


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "model.py").write_text(MODEL)
    return f"{tmp_path / 'model.py'}:target"


def test_a_run_is_sampled_interrupted_resumed_and_summarized(model, tmp_path, monkeypatch):
    store, page = tmp_path / "run.zarr", tmp_path / "page.html"
    sampled = watch.make_draws

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return sampled(*arguments)

    options = ("--store", store, "--draws", 120, "--warmup", 40, "--chains", 2, "--no-progress", "--json")
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(sys.modules["mongepatch.sampling.run"], "make_draws", interrupted)
    done = invoke("sample", model, *options)
    assert done.exit_code == 3, done.output
    assert json.loads(done.stdout)["state"] == "interrupted"
    facts = json.loads(invoke("summary", store, "--json").stdout)
    assert facts["interrupted"]
    assert f"interrupted after {facts['draws']} of 120 draws" in facts["messages"][0]
    assert facts["draws"] < 100
    assert facts["messages"][-1].startswith("Convergence is not checked")
    assert f"mongepatch resume {store} goes on." in invoke("summary", store).stdout
    monkeypatch.setattr(sys.modules["mongepatch.sampling.run"], "make_draws", sampled)
    done = invoke("resume", store, "--no-progress", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert (facts["state"], facts["chains"], facts["draws"]) == ("done", 2, 120)
    facts = json.loads(invoke("summary", store, "--json", "--html", page).stdout)
    assert (facts["interrupted"], facts["divergences"]) == (False, 0)
    assert set(facts["variables"]) == {"a", "b[0]", "b[1]"}
    facts = json.loads(invoke("summary", store, "--json", "--vars", "b", "--vars", "b").stdout)
    assert set(facts["variables"]) == {"b[0]", "b[1]"}
    assert "no variable 'c': its variables are a, b." in str(invoke("summary", store, "--vars", "c").exception)
    assert page.read_text().count("data:image/png;base64,") == 7
    assert "b[1]" in invoke("summary", store).stdout
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))  # a store never says which code to run
    assert "FILE.py:NAME" in str(invoke("resume", store).exception)
    assert "FILE.py:NAME" in str(invoke("extend", store, "--draws", 30).exception)
    done = invoke("extend", store, model, "--draws", 30, "--no-progress", "--json")
    assert (done.exit_code, json.loads(done.stdout)["draws"]) == (0, 150)
    assert invoke("resume", store, model, "--no-progress").exit_code == 0
    told = str(invoke("sample", model, "--store", store, "--no-progress").exception)
    assert f"mongepatch resume {store} ends one" in told
    assert f"mongepatch extend {store} --draws N adds draws" in told
    assert "mp." not in told
    assert "FILE.py:NAME" in str(invoke("resume", store).exception)  # the model that was refused is not remembered
    with pytest.raises(mp.StoreError, match=r"mp\.resume"):  # in Python a call is named again
        mp.sample(mp.targets.banana(), store=str(store))


def test_a_target_that_is_not_reached_has_an_exit_code(model, tmp_path):
    options = ("--store", tmp_path / "run.zarr", "--draws", 100, "--warmup", 40, "--no-progress", "--json")
    done = invoke("sample", model, *options, "--until", "ess=1000000,rhat=1.01")
    assert done.exit_code == 4, done.output
    told = json.loads(done.stdout)
    assert told["state"] == "target not reached"
    assert f"mongepatch extend {tmp_path / 'run.zarr'} --draws N adds draws" in told["messages"][0]
    facts = json.loads(invoke("summary", tmp_path / "run.zarr", "--json").stdout)
    assert not facts["interrupted"]
    assert " ".join(facts["messages"]) == " ".join(told["messages"])


def test_a_summary_repeats_what_sample_told(tmp_path, monkeypatch):
    store, page = str(tmp_path / "run.zarr"), tmp_path / "page.html"
    how = {"metric": mp.Euclidean(), "trajectory": mp.Static(5), "step_size": 0.6, "warmup": 0, "chains": 2}
    with pytest.warns(mp.SamplingWarning) as told:
        tree = mp.sample(mp.targets.funnel(2), draws=200, store=store, progress=False, **how)
    facts = json.loads(invoke("summary", store, "--json", "--html", page).stdout)
    assert facts["divergences"] == int(tree["sample_stats"]["diverging"].sum()) > 0
    assert facts["messages"] == [str(told[0].message)]
    assert "Try a smaller step_size, and see" in facts["messages"][0]  # the advice for one who set it
    assert f"{facts['divergences']} divergent" in invoke("summary", store).stdout
    assert "diverged: the step size is too long" in page.read_text()
    restored = RunStore._restore

    def older(self):  # a store that does not say how its run ended, nor what its user had set
        restored(self)
        del self.state.facts["ended"], self.run.facts["settings"]["situation"]

    monkeypatch.setattr(RunStore, "_restore", older)
    facts = json.loads(invoke("summary", store, "--json").stdout)
    assert not facts["interrupted"]
    assert "diverged" in facts["messages"][0]


@pytest.mark.slow
def test_stores_of_jobs_are_merged(model, tmp_path):
    options = ("--draws", 40, "--warmup", 40, "--chains", 2, "--no-progress", "--json")
    warm = tmp_path / "warm.zarr"
    assert invoke("sample", model, "--store", warm, *options).exit_code == 0
    jobs = [tmp_path / f"{first}.zarr" for first in (0, 2)]
    for job in jobs:
        tuned = ("--store", job, "--tuning", warm, "--chain-offset", job.stem)
        done = invoke("sample", model, *tuned, *options)
        assert done.exit_code == 0, done.output
    done = invoke("merge", *jobs, "-o", tmp_path / "all.zarr", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert (facts["chains"], facts["draws"]) == (4, 40)


@pytest.mark.parametrize("arguments", [("model.py",), ("no.py:target",), ("--until", "es=3"), ("--until", "ess=x")])
def test_bad_arguments_are_told(arguments, model, tmp_path):
    arguments = (model, *arguments) if arguments[0] == "--until" else arguments
    told = invoke("sample", *arguments, "--store", tmp_path / "run.zarr").exception
    assert isinstance(told, mp.SettingError)
    assert ("no.py does not exist" in str(told)) == (arguments[0] == "no.py:target")
