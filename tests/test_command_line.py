"""The command line, at sizes that take seconds."""

import time
from typing import Literal

import pytest
from typer.testing import CliRunner

import mongepatch as mp
from benchmarks import implicit, kernels, patch_step, scaling, schemes, step, uturn
from mongepatch.cli import app
from mongepatch.sampling import progress
from mongepatch.sampling.kernel_names import KERNELS


def invoke(*arguments):
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_version():
    assert invoke("--version").strip() == f"mongepatch {mp.__version__}"


def test_demo_writes_a_picture_and_prints_the_truth(tmp_path):
    picture = tmp_path / "demo.png"
    output = invoke("demo", "--out", str(picture), "--draws", "2000")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "truth" in output
    assert "LMC-Monge" in output
    assert "HMC" in output


def test_demo_looks_for_the_folder_first():
    done = CliRunner().invoke(app, ["demo", "--out", "no/such/folder/demo.png"])
    assert isinstance(done.exception, mp.SettingError)
    assert "no such folder" in str(done.exception)


def test_bench_step(monkeypatch):
    monkeypatch.setattr(step, "SIZES", ((50, 3), (60, 4)))
    monkeypatch.setattr(step, "SECONDS_A_CALL", 0.001)
    output = invoke("bench", "step", "--rounds", "1")
    assert "N = 60, D = 4" in output
    assert "merged / leapfrog" in output


def test_bench_patch_step(monkeypatch):
    monkeypatch.setattr(patch_step, "NUM_STEPS", 5)
    monkeypatch.setattr(patch_step, "MODELS", patch_step.MODELS[:1])
    output = invoke("bench", "patch-step", "--rounds", "1")
    assert "eight schools" in output
    assert "10, 18, 3" in output


def test_bench_scaling(monkeypatch):
    monkeypatch.setattr(scaling, "DIMENSIONS", (10, 20_000, 80_000))
    output = invoke("bench", "scaling", "--rounds", "1")
    assert "80,000" in output
    assert "memory 1.0" in output


def test_memory_grows_with_the_dimension_and_not_its_square(monkeypatch):
    monkeypatch.setattr(scaling, "DIMENSIONS", (20_000, 200_000))
    assert all(memory == pytest.approx(1.0, abs=0.02) for _, memory in scaling.run(rounds=1).values())


def test_bench_funnel():
    output = invoke("bench", "funnel", "--draws", "500", "--seeds", "2")
    assert "worst KS" in output


def test_bench_kernels(monkeypatch):
    (problem,) = kernels.problems(["funnel-1"])
    contenders = list(kernels.contenders(problem))
    assert {contender.kernel.name for contender in contenders} == set(KERNELS)
    monkeypatch.setattr(kernels, "problems", lambda names: [problem])
    monkeypatch.setattr(kernels, "contenders", lambda _: contenders[::4])
    output = invoke("bench", "kernels", "--draws", "100")
    for contender in contenders[::4]:
        assert contender.name in output
    assert "BlackJAX NUTS" in output


def test_bench_implicit(monkeypatch):
    monkeypatch.setattr(implicit, "STEP_SIZES", (0.6,))
    some = list(implicit.INTEGRATORS.items())[::3]  # one that is checked, and one that is not
    monkeypatch.setattr(implicit, "INTEGRATORS", dict(some))
    output = invoke("bench", "implicit", "--draws", "100")
    for name in (*implicit.INTEGRATORS, "BlackJAX"):
        assert name in output


def test_bench_uturn(monkeypatch):
    first = uturn.problems()[:1]
    monkeypatch.setattr(uturn, "problems", lambda: first)
    monkeypatch.setattr(uturn, "STEPS", (1.0,))
    monkeypatch.setattr(uturn, "Rule", Literal["trapezoid", "chord"])
    assert "trapezoid" in invoke("bench", "uturn", "--draws", "100")


def test_bench_schemes(monkeypatch):
    first = schemes.problems()[:1]
    monkeypatch.setattr(schemes, "problems", lambda: first)
    monkeypatch.setattr(schemes, "SHRINK", (0.5,))
    output = invoke("bench", "schemes", "--draws", "100")
    assert "merged / paper" in output


@pytest.mark.usefixtures("optimized")  # it is a share of the time of a run
def test_the_progress_bar_costs_less_than_two_percent(monkeypatch):
    """Time spent in the bar itself, as a share of the run: steadier than the difference of two runs."""
    spent = []
    honest = progress._BarReport.__call__

    def timed(self, info, seconds):
        started = time.perf_counter()
        honest(self, info, seconds)
        spent.append(time.perf_counter() - started)

    monkeypatch.setattr(progress._BarReport, "__call__", timed)
    tree = mp.sample(
        step.synthetic_regression(270, 14), metric=mp.Monge(0.1), trajectory=mp.Static(7), step_size=0.1, draws=20_000
    )
    assert len(spent) > 3
    assert sum(spent) < 0.02 * tree["posterior"].attrs["sampling_time"]


def test_bench_progress():
    assert "the bar adds" in invoke("bench", "progress", "--rounds", "1", "--draws", "200")
