"""The scripts of `examples/` are valid, and those that need no other machine run on this one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mongepatch as mp

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".sh", ".sbatch"))
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py"))
MOST_SECONDS = 400

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


@needs_bash
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_valid(name):
    subprocess.run(["bash", "-n", str(EXAMPLES / name)], check=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_valid(name):
    compile((EXAMPLES / name).read_text(encoding="utf-8"), name, "exec")


def run(*command, **variables):
    """Run a script of a copy of the folder, in which it may write."""
    variables = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "PYTHON": sys.executable} | variables
    done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@needs_bash
@pytest.mark.slow
def test_hosts_run_on_this_machine(folder):
    output = run("bash", "examples/hosts.sh", "run.zarr", "localhost", "localhost", ARGUMENTS="4 30 60")
    assert "4 chains of 30 draws are in run.zarr." in output
    assert mp.open_store("run.zarr")["posterior"]["theta"].shape == (4, 30, 8)


@needs_bash
@pytest.mark.slow
def test_independent_jobs_are_merged(folder):
    program = folder / "mongepatch"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mongepatch "$@"\n')
    program.chmod(0o755)
    settings = {"MONGEPATCH": str(program), "CHAINS": "2", "DRAWS": "30", "WARMUP": "60", "MONGEPATCH_CACHE": "0"}
    run("bash", "examples/array_job.sh", "warm", **settings)
    for task in ("0", "1"):
        run("bash", "examples/array_job.sh", "draw", TASK=task, **settings)
    assert "log_tau" in run("bash", "examples/array_job.sh", "merge", **settings)
    assert mp.open_store("jobs/all.zarr")["posterior"]["mu"].shape == (4, 30)
