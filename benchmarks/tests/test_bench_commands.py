"""The commands of the benchmarks, at sizes that take seconds."""

import json
from typing import Literal

import pytest
from typer.testing import CliRunner

import mongepatch
from benchmarks import (
    devices,
    gradients,
    implicit,
    imports,
    kernels,
    many_chains,
    patch_step,
    scaling,
    schemes,
    step,
    uturn,
)
from benchmarks.__main__ import app
from mongepatch.integrators import GeneralizedLeapfrog, ImplicitMidpoint
from mongepatch.warmup.options import KERNELS

pytestmark = pytest.mark.slow  # whole commands


def invoke(*arguments):
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_bench_step(monkeypatch):
    monkeypatch.setattr(step, "SIZES", ((50, 3), (60, 4)))
    monkeypatch.setattr(step, "SECONDS_PER_CALL", 0.001)
    output = invoke("step", "--rounds", "1")
    assert "N = 60, D = 4" in output
    assert "merged / leapfrog" in output


def test_bench_patch_step(monkeypatch):
    monkeypatch.setattr(patch_step, "NUM_STEPS", 5)
    monkeypatch.setattr(patch_step, "MODELS", patch_step.MODELS[:1])
    output = invoke("patch-step", "--rounds", "1")
    assert "eight schools" in output
    assert "10, 18, 3" in output


def test_bench_gradients(monkeypatch):
    monkeypatch.setattr(mongepatch, "whiten", lambda target: target, raising=False)
    monkeypatch.setattr(gradients, "REPEATS", 5)
    output = invoke("gradients", "--rounds", "1", "--only", "schools")
    assert "whitened / plain" in output
    assert "schools" in output


def test_bench_cold(tmp_path):
    numbers = tmp_path / "numbers.json"
    sizes = ("--draws", "100", "--warmup", "100", "--only", "schools", "--json", str(numbers))
    output = invoke("cold", *sizes)
    assert "schools: NumPyro NUTS" in output
    assert "programs" in output
    (ours,), (nuts,) = json.loads(numbers.read_text())["problems"]["schools"].values()
    for first in (ours["first"], nuts["first"]):
        assert 0 < first["compiling"] <= first["wall"]
        assert 0 <= first["other"] < first["wall"]
        assert first["programs"] > 10
    assert 0 < ours["sampling"] < ours["first"]["wall"]
    assert ours["second"]["programs"] == 0


@pytest.mark.slow  # it measures time
def test_importing_takes_little_longer_than_importing_jax():
    assert imports.run(rounds=5)["import mongepatch"] < 1.2


def test_bench_imports():
    output = invoke("imports", "--rounds", "1")
    assert "import jax" in output
    assert "import mongepatch" in output


def test_bench_many_chains(monkeypatch):
    monkeypatch.setattr(many_chains, "DRAWS", 3)
    output = invoke("many-chains", "--rounds", "1", "--chains", "2", "--chains", "5")
    assert "eight schools" in output
    assert "times as fast" in output


def test_bench_devices(monkeypatch, capsys):
    monkeypatch.setattr(devices, "DEVICES", 1)  # as many as this process has
    monkeypatch.setattr(devices, "KINDS", {"static": (4, None, 3)})
    devices.print_figures(rounds=1)
    assert json.loads(capsys.readouterr().out)["static"]["apart"] == 0.0


def test_bench_hosts():
    assert "sampling_time" in invoke("hosts", "--processes", "1")


def test_bench_scaling(monkeypatch):
    monkeypatch.setattr(scaling, "DIMENSIONS", (10, 20_000, 80_000))
    output = invoke("scaling", "--rounds", "1")
    assert "80,000" in output
    assert "memory 1.0" in output


def test_memory_grows_with_the_dimension_and_not_its_square(monkeypatch):
    monkeypatch.setattr(scaling, "DIMENSIONS", (20_000, 200_000))
    assert all(memory == pytest.approx(1.0, abs=0.02) for _, memory in scaling.run(rounds=1).values())


def test_bench_scale():
    sizes = ("--groups", "5", "--groups", "20", "--rows", "50", "--rows", "200")
    output = invoke("scale", "--rounds", "1", "--draws", "200", *sizes)
    assert "hierarchy, whitened" in output
    assert "a pass over it" in output
    assert "least effective size" in output


def test_bench_device():
    parts = ("--only", "kernel", "--only", "schools")
    output = invoke("device", "--chains", "4", "--draws", "20", "--rounds", "1", "--budget", "60", *parts)
    assert "LMC-Monge" in output
    assert "effective/s" in output
    assert "| ours | double | 4 |" in output


@pytest.mark.slow
def test_bench_funnel():
    output = invoke("funnel", "--draws", "500", "--seeds", "2")
    assert "worst KS" in output


@pytest.mark.slow
def test_bench_kernels(monkeypatch):
    (problem,) = kernels.problems(["funnel-1"])
    contenders = list(kernels.contenders(problem))
    assert {contender.kernel.name for contender in contenders} == set(KERNELS)
    monkeypatch.setattr(kernels, "problems", lambda names: [problem])
    monkeypatch.setattr(kernels, "contenders", lambda _: contenders[::4])
    output = invoke("kernels", "--draws", "100")
    for contender in contenders[::4]:
        assert contender.name in output
    assert "BlackJAX NUTS" in output


@pytest.mark.slow
def test_bench_implicit(monkeypatch):
    monkeypatch.setattr(implicit, "STEP_SIZES", (0.6,))
    some = list(implicit.INTEGRATORS.items())[::3]  # one that is checked, and one that is not
    monkeypatch.setattr(implicit, "INTEGRATORS", dict(some))
    output = invoke("implicit", "--draws", "100")
    for name in (*implicit.INTEGRATORS, "BlackJAX"):
        assert name in output


@pytest.mark.slow
def test_bench_uturn(monkeypatch):
    first = uturn.problems()[:1]
    monkeypatch.setattr(uturn, "problems", lambda: first)
    monkeypatch.setattr(uturn, "STEPS", (1.0,))
    monkeypatch.setattr(uturn, "Rule", Literal["trapezoid", "chord"])
    assert "trapezoid" in invoke("uturn", "--draws", "100")


def test_bench_schemes(monkeypatch):
    first = schemes.problems()[:1]
    monkeypatch.setattr(schemes, "problems", lambda: first)
    monkeypatch.setattr(schemes, "SHRINK", (0.5,))
    output = invoke("schemes", "--draws", "100")
    assert "merged / paper" in output


def test_bench_progress():
    assert "the bar adds" in invoke("progress", "--rounds", "1", "--draws", "200")


@pytest.mark.slow
@pytest.mark.parametrize("step_size", implicit.STEP_SIZES)
@pytest.mark.parametrize("integrator", [GeneralizedLeapfrog(), ImplicitMidpoint()], ids=["leapfrog", "midpoint"])
def test_the_funnel_is_right_or_the_run_says_so(integrator, step_size):
    estimate = implicit.ours(integrator, step_size, draws=1500)
    assert estimate.standard_errors_off < 4 or estimate.warned
    assert estimate.acceptance > 0.9


def test_without_checks_a_wrong_answer_looks_fine():
    """What the checks are for: three iterations are too few, and acceptance is perfect."""
    name = "midpoint, 3 iterations, unchecked"
    wrong = implicit.ours(implicit.INTEGRATORS[name], 0.3, draws=4000)
    assert wrong.standard_errors_off > 4
    assert wrong.acceptance > 0.99
    assert not wrong.warned
    checked = ImplicitMidpoint(solver=implicit.FEW)
    assert implicit.ours(checked, 0.3, draws=20).failed > 0.9
