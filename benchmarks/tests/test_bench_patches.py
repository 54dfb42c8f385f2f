"""The benchmark of patches calls a right sampler right and a wrong one wrong."""

import json

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from typer.testing import CliRunner

from benchmarks import lengths
from benchmarks.__main__ import app
from benchmarks.measures.quantile_checks import estimated_quantiles, exact_quantiles, quantile_deviation
from benchmarks.measures.timing import compiled_once
from benchmarks.patches import quantities, report, truth
from benchmarks.patches.measure import SamplerRow, row
from benchmarks.patches.problems import NumpyroProblem, hard_problems
from benchmarks.patches.quality import quality
from benchmarks.patches.samplers import (
    RunPlan,
    SamplerOutcome,
    SamplerTask,
    learnt_centring,
    nutpie_reparametrised,
)
from benchmarks.patches.samplers.callbacks import CallbackDensity, compiled_gradient_seconds
from benchmarks.patches.samplers.learnt_centring import loc_scale_sites
from benchmarks.posteriordb.numpyro_models import autoregression, kidscore
from mongepatch.errors import SettingError
from mongepatch.program.stopwatch import covered
from mongepatch.targets.truth import Normal

RNG = np.random.default_rng(0)
PROBLEMS = {problem.name: problem for problem in hard_problems()}
NEAL = PROBLEMS["neal-9"]
EXACT = truth.truth_of(NEAL).quantiles
STATE = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers():
    """The same random numbers for a test, whichever ran before it."""
    RNG.bit_generator.state = STATE


def outcome_of(v, **figures):
    x = RNG.normal(size=(*v.shape, 9)) * np.exp(0.5 * v)[..., None]
    return SamplerOutcome(
        {"v": v, "x": x}, **{"n_grad": 1000, "seconds": 2.0, "compile_seconds": 1.0, "divergences": 0, **figures}
    )


def test_a_right_sampler_is_right():
    run = quality(NEAL, EXACT, outcome_of(RNG.normal(0.0, 3.0, size=(4, 1000))))
    assert run.verdict == "right"
    assert run.deep["v"] == pytest.approx(-9.27, abs=1.5)
    assert run.ks < 0.04
    assert run.per_second == run.most_per_second == run.size / 2
    assert run.per_1000_grads == run.size


@pytest.mark.parametrize(
    "change", [lambda v: v + 0.4, lambda v: 0.9 * v, lambda v: np.where(v < -6.0, 0.0, v)], ids=["mean", "sd", "neck"]
)
def test_a_biased_sampler_is_wrong(change):
    run = quality(NEAL, EXACT, outcome_of(change(RNG.normal(0.0, 3.0, size=(4, 2500)))))
    assert run.verdict == "wrong"
    assert run.worst == "v" or run.worst.startswith("x")


def test_a_neck_without_any_draws_is_found():
    known = exact_quantiles(Normal(0.0, 3.0), (0.05,))
    draws = np.abs(RNG.normal(0.0, 3.0, size=(4, 1000)))
    assert quantile_deviation(draws, known) > 10


def test_chains_that_disagree_are_not_right():
    v = RNG.normal(0.0, 3.0, size=(4, 1000))
    assert quality(NEAL, EXACT, outcome_of(v + 3.0 * np.arange(-1.5, 2)[:, None])).verdict == "wrong"
    assert quality(NEAL, EXACT, outcome_of(v + 0.4 * np.arange(-1.5, 2)[:, None])).verdict == "slow"
    v[0] = 0.0
    assert quality(NEAL, EXACT, outcome_of(v)).verdict == "wrong"


def test_without_a_truth_nothing_is_judged():
    assert quality(NEAL, {}, outcome_of(RNG.normal(size=(4, 100)))).verdict == "unjudged"


def test_the_exact_scale_of_eight_schools():
    exact = PROBLEMS["schools"].exact["log tau"]
    tau = np.exp(np.linspace(-3.0, 3.0, 7))
    errors, effects = PROBLEMS["schools"].data
    mu = np.linspace(-40.0, 40.0, 4001)
    v = tau[:, None, None] ** 2 + errors**2
    likelihood = np.exp(-0.5 * ((effects - mu[:, None]) ** 2 / v + np.log(v)).sum(axis=2) - 0.5 * (mu / 5.0) ** 2)
    density = likelihood.sum(axis=1) * tau / (1.0 + (tau / 5.0) ** 2)
    tabulated = np.interp(np.log(tau), exact.grid, exact.weights)
    assert tabulated / tabulated[3] == pytest.approx(density / density[3], rel=1e-3)


def test_deviations_are_in_standard_errors():
    draws = RNG.normal(size=(300, 4, 250))
    draws[..., 1::2] = draws[..., ::2]  # each draw twice
    known = exact_quantiles(Normal(0.0, 1.0), (0.25,))
    deviations = [quantile_deviation(one, known) for one in draws]
    assert np.sqrt(np.mean(np.square(deviations))) == pytest.approx(1.0, abs=0.15)


def test_an_estimated_truth_has_errors():
    (known,) = estimated_quantiles(RNG.normal(size=(4, 2500)), (0.05,))
    assert known.value == pytest.approx(-1.645, abs=0.1)
    assert known.error == pytest.approx(np.sqrt(0.05 * 0.95 / 10_000), rel=0.2)


def test_the_distribution_of_an_x_is_known():
    x = RNG.normal(size=200_000) * np.exp(0.5 * RNG.normal(0.0, 3.0, size=200_000))
    for probability, value, _ in EXACT["x[0]"]:
        assert (x < value).mean() == pytest.approx(probability, abs=0.005)


def test_scales_are_looked_at_in_logarithms():
    problem = NumpyroProblem("p", lambda: None, (), scales=("tau",), others=("theta",))
    made = quantities.quantities(problem, {"tau": np.ones((4, 10, 2)), "theta": np.zeros((4, 10, 9))})
    assert quantities.neck_names(problem, made) == ["log tau[0]", "log tau[1]"]
    assert quantities.other_names(problem, made) == [f"theta[{i}]" for i in range(5)]
    assert len(made) == 11
    assert (made["log tau[0]"] == 0).all()


def values_of(problem, model):
    """Every site of a form at one draw of its own."""
    trace = handlers.trace(handlers.seed(model, 0)).get_trace(*problem.data)
    return {name: np.asarray(site["value"]) for name, site in trace.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_forms_have_the_same_sites(name):
    problem = PROBLEMS[name]
    wanted = {*problem.scales, *problem.logs, *problem.others}
    shapes = [
        {site: value.shape for site, value in values_of(problem, model).items() if site in wanted}
        for model in (problem.centred, *problem.forms.values())
    ]
    assert set(shapes[0]) == wanted
    assert all(other == shapes[0] for other in shapes)


def write(folder, name, data):
    (folder / name).mkdir()
    (folder / name / "data.json").write_text(json.dumps(data))


def test_models_of_posteriordb_are_read_from_a_folder(tmp_path, capsys):
    data = {"I": 2, "n": [10, 23], "N": [39, 62], "x1": [0, 1], "x2": [1, 0]}
    write(tmp_path, "seeds_data-seeds_centered_model", data)
    found = {problem.name: problem for problem in hard_problems(tmp_path)}
    assert set(found) - set(PROBLEMS) == {"seeds"}
    assert "rats_data-rats_model is left out" in capsys.readouterr().err
    assert {"sigma", "c", "alpha12"} <= set(values_of(found["seeds"], found["seeds"].forms["non-centred"]))


@pytest.mark.slow
def test_a_long_run_is_made_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    problem, plan = PROBLEMS["schools"], RunPlan(200, 0, warmup=200)
    first = truth.truth_of(problem, plan)
    assert first.is_doubtful
    assert "a long run" in capsys.readouterr().err
    assert first.quantiles["log tau"][4].value == pytest.approx(1.0, abs=0.4)
    assert truth.truth_of(problem, plan) == first
    printed = capsys.readouterr().err
    assert "a long run" not in printed
    assert "do not trust" in printed


def test_callbacks_are_counted():
    task = SamplerTask(NEAL.centred, NEAL.data)
    callback = CallbackDensity(task.target)
    position = np.full(10, 0.5)
    value, gradient = callback(position)
    assert value == pytest.approx(float(task.target(position)))
    assert gradient.shape == (10,)
    assert callback.count == 1
    assert 0 < compiled_gradient_seconds(task) < 1e-3


@pytest.mark.slow
def test_centrings_are_of_sites_with_a_location_and_a_scale():
    found = {name: loc_scale_sites(SamplerTask(PROBLEMS[name].centred, PROBLEMS[name].data)) for name in PROBLEMS}
    assert found["schools"] == ["mu", "theta"]  # τ is positive
    assert found["slopes"] == ["beta"]
    assert found["volatility"] == ["mu"]


def only_a_scale():
    numpyro.sample("tau", dist.LogNormal(0, 1))


def test_without_such_sites_there_is_nothing_to_learn():
    with pytest.raises(SettingError, match="no latent site"):
        learnt_centring().run(SamplerTask(only_a_scale, ()), RunPlan(10, 0))


@pytest.mark.slow
def test_a_funnel_is_learnt_to_be_non_centred():
    outcome = learnt_centring().run(SamplerTask(NEAL.centred, NEAL.data), RunPlan(500, 0, warmup=500))
    assert float(outcome.remark.split("x ")[1]) < 0.2
    assert quality(NEAL, EXACT, outcome).verdict != "wrong"


def test_a_peer_that_cannot_run_is_left_out(capsys):
    task = SamplerTask(NEAL.centred, NEAL.data)
    left_out = row(NEAL, truth.ReferenceQuantiles(EXACT), task, nutpie_reparametrised(), "peer", 10, [0])
    assert left_out.runs == []
    assert "no release of nutpie has auto_reparam" in capsys.readouterr().err


def test_nested_times_count_once():
    assert covered([(0.0, 1.0), (0.2, 0.4), (0.5, 2.0), (3.0, 4.0)]) == 3.0


def test_the_summary_takes_the_best_peer_that_is_right(capsys):
    draws = RNG.normal(0.0, 3.0, size=(4, 1000))

    def row(name, kind, v, seconds):
        return SamplerRow(name, kind, [quality(NEAL, EXACT, outcome_of(v, seconds=seconds))])

    own, wrong = row("ours, patch", "ours", draws, 1.0), row("fast", "peer", 0.5 * draws, 0.01)
    rows = [own, wrong, row("honest", "peer", draws, 10.0), row("NUTS, non-centred", "form", draws, 2.0)]
    report.summary_table({"neal-9": rows}, "patch")
    line = next(line for line in capsys.readouterr().out.splitlines() if "honest" in line)
    assert "fast" not in line
    ratio = float(line.split("honest")[1].split()[0])
    assert 5 < ratio < 20
    assert "yes" in line
    report.by_hand_table(NEAL, rows)
    line = next(line for line in capsys.readouterr().out.splitlines() if "ours, patch" in line)
    agrees, per_second, per_grads = line.split()[-3:]
    assert agrees == "yes"
    assert float(per_second) == pytest.approx(2 * float(per_grads), rel=0.01)  # in half the time
    report.summary_table({"neal-9": rows[:2]}, "patch")
    assert "none is right" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    figures = tmp_path / "figures.json"
    arguments = ["--only", "softplus-1", "--metric", "euclidean", "--no-peers", "--seeds", "1", "--draws", "100"]
    result = CliRunner().invoke(app, ["patches", *arguments, "--json", str(figures)])
    assert result.exit_code == 0, result.output
    assert "ours, euclidean" in result.output
    (row,) = json.loads(figures.read_text())["problems"]["softplus-1"]["rows"]
    assert row["runs"][0]["ks"] > 0


def test_a_problem_that_is_not_there():
    result = CliRunner().invoke(app, ["patches", "--only", "nothing"])
    assert "There is no problem nothing" in str(result.exception)


def test_regular_models_run():
    X, y = RNG.normal(size=(10, 2)), RNG.normal(size=10)
    for model in (kidscore, autoregression):
        target = SamplerTask(model, (X, y)).target
        assert np.isfinite(float(target(np.zeros(target.dimension))))


def test_nothing_is_kept_on_disk_after_a_block():
    shortest = "jax_persistent_cache_min_compile_time_secs"
    before = jax.config.values[shortest]
    jax.config.update(shortest, 0.0)
    try:
        with compiled_once():
            jax.jit(lambda x: x + 41.0)(1.0)
        jax.jit(lambda x: x + 43.0)(1.0)  # would warn that the folder is gone
    finally:
        jax.config.update(shortest, before)


@pytest.mark.slow
def test_lengths_of_trajectories_are_compared(capsys):
    found = lengths.run(draws=100, seeds=[0], only=["softplus-1"], lengths=[2, 8])
    short, long = (runs[0] for runs in found["softplus-1"].values())
    assert short.size < long.size
    assert long.per_second > 0
    assert "8 steps" in capsys.readouterr().out


def test_lengths_of_an_unknown_problem_are_refused():
    with pytest.raises(SettingError, match="There is no problem nothing"):
        lengths.run(only=["nothing"])
