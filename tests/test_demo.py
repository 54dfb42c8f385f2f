"""The demo: its truth, its table and picture, and that NUTS misses what ours finds."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers import Known, largest_deviation
from typer.testing import CliRunner

from mongepatch.cli import app
from mongepatch.demo import run
from mongepatch.demo.models import papers_funnel, spread_of_groups, uneven_groups
from mongepatch.demo.picture import draw
from mongepatch.demo.samplers import Run, nuts_run, our_run


def test_the_spread_of_groups_is_that_of_a_quadrature_in_two_dimensions():
    means, variances = np.array([0.3, -0.2, 1.0]), np.array([1.0, 0.5, 0.01])
    mu, log_tau = np.linspace(-6, 6, 801), np.linspace(-25.0, 3.0, 4001)
    total = np.exp(2 * log_tau)[:, None, None] + variances
    squares = (means - mu[None, :, None]) ** 2 / total
    log_density = -0.5 * (np.log(total) + squares).sum(axis=2) - 0.5 * mu**2
    weights = np.exp(log_density).sum(axis=1) * np.exp(log_tau - 0.5 * np.exp(2 * log_tau))
    weights /= weights.sum()
    found = spread_of_groups(means, variances)
    mean = weights @ log_tau
    assert found.mean == pytest.approx(mean, abs=1e-4)
    assert found.sd == pytest.approx(np.sqrt(weights @ (log_tau - mean) ** 2), abs=1e-4)


def test_the_table_and_the_picture_of_made_up_runs(tmp_path, capsys):
    """Exact draws of the scale, and the same without the lowest 3%."""
    rng = np.random.default_rng(0)
    pairs = []
    for model in (uneven_groups(), papers_funnel()):
        probabilities = rng.uniform(size=(4, 1000))
        right, wrong = (model.truth.quantile(low + (1 - low) * probabilities) for low in (0.0, 0.03))
        noise = rng.normal(size=(4, 1000))
        pairs.append((model, (Run("ours", right, noise, 0.0, 1.0), Run("theirs", wrong, noise, 0.12, 1.0))))
    run.print_runs(*pairs[0])
    table = capsys.readouterr().out
    assert "truth" in table
    assert "12.0%" in table
    rows = {line.split()[0]: line for line in table.splitlines() if line.strip()}
    assert "0.00%" in rows["theirs"]
    assert "0.00%" not in rows["ours"]
    draw(pairs, tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
def test_the_demo_prints_a_table_and_writes_a_picture(tmp_path):
    picture = tmp_path / "demo.png"
    done = CliRunner().invoke(app, ["demo", "--out", str(picture), "--draws", "100"], catch_exceptions=False)
    assert picture.read_bytes().startswith(b"\x89PNG")
    for words in ("truth", "mp.sample", "NumPyro NUTS"):
        assert words in done.output


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
def test_ours_is_right_and_nuts_misses_the_tail():
    for make in (uneven_groups, papers_funnel):
        model, ours, nuts = make(), our_run(make, 1000), nuts_run(make, 1000)
        assert largest_deviation({"scale": ours.scale}, {"scale": Known(model.truth.mean, model.truth.sd)}) < 4
        error = array_stats.mcse(ours.scale, method="quantile", prob=run.LOW)
        assert abs(np.quantile(ours.scale, run.LOW) - model.truth.quantile(run.LOW)) < 4 * error
        assert nuts.scale.min() > model.truth.quantile(run.LOW)
