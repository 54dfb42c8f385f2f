"""Compiled programs are kept between processes where the user asks for it."""

import pytest
from helpers import run_python

SAMPLE = """
import jax, jax.numpy as jnp, mongepatch as mp
events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))
tree = mp.sample(
    lambda x: -0.5 * x @ x, jnp.zeros(2), metric=mp.Euclidean(), trajectory=mp.Static(2), step_size=0.5, warmup=5,
    draws=20, progress=False,
)
print(events.count("cache_hits"), events.count("cache_misses"), tree["posterior"]["x"].values.tobytes().hex())
"""
FOLDER = "import jax, mongepatch; print(jax.config.jax_compilation_cache_dir)"
COMMAND = """
import jax
from typer.testing import CliRunner
from mongepatch.cli import app
CliRunner().invoke(app, ["demo", "--out", "no/such/folder/demo.png"])
print(jax.config.jax_compilation_cache_dir)
"""


def output(code, **variables):
    done = run_python(code, **variables)
    assert done.returncode == 0, done.stderr
    return done


def test_a_second_process_compiles_nothing_and_draws_the_same(tmp_path):
    first, second = (output(SAMPLE, MONGEPATCH_CACHE=str(tmp_path / "programs")) for _ in range(2))
    hits, misses, draws = second.stdout.split()
    assert int(first.stdout.split()[1]) > 0
    assert int(hits) >= int(first.stdout.split()[1])
    assert int(misses) == 0
    assert draws == first.stdout.split()[2]
    assert second.stderr == first.stderr == ""


@pytest.mark.parametrize(("wanted", "found"), [("", "None"), ("0", "None"), ("1", "mongepatch/programs")])
def test_the_variable_switches_the_cache_on(tmp_path, wanted, found):
    done = output(FOLDER, MONGEPATCH_CACHE=wanted, XDG_CACHE_HOME=str(tmp_path))
    assert done.stdout.strip() == (found if found == "None" else str(tmp_path / found))


def test_a_cache_that_the_user_configured_stays(tmp_path):
    mine = str(tmp_path / "mine")
    assert output(FOLDER, MONGEPATCH_CACHE="1", JAX_COMPILATION_CACHE_DIR=mine).stdout.strip() == mine


@pytest.mark.parametrize(("wanted", "found"), [("", "mongepatch/programs"), ("0", "None")])
def test_the_command_line_switches_the_cache_on(tmp_path, wanted, found):
    done = output(COMMAND, MONGEPATCH_CACHE=wanted, XDG_CACHE_HOME=str(tmp_path))
    assert done.stdout.strip() == (found if found == "None" else str(tmp_path / found))
