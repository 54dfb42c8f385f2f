"""The benchmark of posteriordb: Stan's names, deviations in standard errors, and a table of few draws."""

import numpy as np
import pytest
from test_posteriordb_densities import write
from typer.testing import CliRunner

import mongepatch as mp
from benchmarks.__main__ import app
from benchmarks.measures.scalars import from_stan_scalars, scalars, stan_names, stan_scalars
from benchmarks.posteriordb.cases import cases
from benchmarks.posteriordb.run import deviations


def test_scalars_have_stans_names():
    values = np.arange(12.0).reshape(1, 2, 2, 3)
    found = stan_scalars({"mu": np.zeros((1, 2)), "beta": values[..., 0], "Omega": values})
    assert list(found)[:3] == ["mu", "beta[1]", "beta[2]"]
    np.testing.assert_array_equal(found["Omega[2,3]"], values[..., 1, 2])
    shapes = {"mu": (), "beta": (2,), "Omega": (2, 3)}
    assert stan_names(shapes) == list(found)
    joined = from_stan_scalars(found, shapes)
    assert {name: array.shape[2:] for name, array in joined.items()} == shapes
    np.testing.assert_array_equal(joined["Omega"], values)


def test_every_scalar_has_a_name_counted_from_0():
    flat = scalars({"a": np.zeros((4, 10)), "b": np.zeros((4, 10, 2, 3))})
    assert list(flat)[:3] == ["a", "b[0, 0]", "b[0, 1]"]
    assert len(flat) == 7


def test_deviations_are_in_standard_errors_of_both_runs():
    rng = np.random.default_rng(0)
    draws, reference = ({"x": rng.normal(size=(4, 1000))} for _ in range(2))
    figures = deviations(draws, reference)
    assert set(figures) == {"mean of x", "sd of x", "5% of x", "95% of x"}
    assert max(figures.values()) < 4
    error = np.sqrt(2 / 4000)
    assert deviations({"x": draws["x"] + 10 * error}, reference)["mean of x"] == pytest.approx(10, abs=4)
    assert deviations({"x": draws["x"] * 1.2}, reference)["sd of x"] > 4
    assert deviations({"x": np.maximum(draws["x"], -1.5)}, reference)["5% of x"] > 4


def test_every_front_end_that_has_the_posterior_is_a_case(tmp_path):
    write(tmp_path, "kidiq-kidscore_interaction")
    assert [case.front_end for case in cases(tmp_path)] == ["JAX", "NumPyro"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")
def test_the_table_has_every_case(tmp_path):
    write(tmp_path, "kidiq-kidscore_interaction")
    done = CliRunner().invoke(
        app, ["posteriordb", str(tmp_path), "--draws", "100"], catch_exceptions=False, env={"COLUMNS": "200"}
    )
    assert done.exit_code == 0, done.output
    assert "of 2 are right" in done.output


def test_folders_without_draws_are_refused(tmp_path):
    with pytest.raises(mp.SettingError, match="reference draws"):
        list(cases(tmp_path))
