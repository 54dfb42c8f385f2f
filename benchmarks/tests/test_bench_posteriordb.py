"""The bench of posteriordb: Stan's names, deviations in standard errors, and a table at a size that takes seconds."""

import numpy as np
import pytest
from test_posteriors import write
from typer.testing import CliRunner

import mongepatch as mp
from benchmarks.posteriordb.cases import cases, entries
from benchmarks.posteriordb.run import deviations
from mongepatch.cli import app


def test_scalars_have_stans_names():
    values = np.arange(12.0).reshape(1, 2, 2, 3)
    found = entries({"mu": np.zeros((1, 2)), "beta": values[..., 0], "Omega": values})
    assert list(found)[:3] == ["mu", "beta[1]", "beta[2]"]
    np.testing.assert_array_equal(found["Omega[2,3]"], values[..., 1, 2])


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


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")
def test_the_table_has_every_front_end_that_has_the_posterior(tmp_path):
    write(tmp_path, "kidiq-kidscore_interaction")
    assert [case.front_end for case in cases(tmp_path)] == ["JAX", "NumPyro"]
    done = CliRunner().invoke(
        app, ["bench", "posteriordb", str(tmp_path), "--draws", "100"], catch_exceptions=False, env={"COLUMNS": "200"}
    )
    assert done.exit_code == 0, done.output
    assert "of 2 are right" in done.output


def test_folders_without_draws_are_refused(tmp_path):
    with pytest.raises(mp.SettingError, match="reference draws"):
        list(cases(tmp_path))
