"""The models of the benchmark of examples are what they say, and its tables say where our sampler is worse."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer.util import log_density
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.examples import report
from benchmarks.examples.problems import example_problems, states
from benchmarks.examples.report import Comparison
from benchmarks.examples.samplers import ExampleRun
from mongepatch import from_numpyro

PROBLEMS = {problem.name: problem for problem in example_problems()}


def test_names_are_unique_and_data_are_always_the_same():
    again = example_problems()
    assert len(PROBLEMS) == len(again)
    for problem in again:
        for mine, other in zip(PROBLEMS[problem.name].data, problem.data, strict=True):
            np.testing.assert_array_equal(mine, other)


def check_sites(problem):
    trace = handlers.trace(handlers.seed(problem.centred, 0)).get_trace(*problem.data)
    assert {*problem.scales, *problem.logs, *problem.others} <= set(trace)
    for name in problem.scales:
        assert (np.asarray(trace[name]["value"]) > 0).all()


def test_measured_sites_are_in_the_model():
    check_sites(PROBLEMS["baseball"])


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_are_finite_at_starting_points(name):
    problem = PROBLEMS[name]
    check_sites(problem)
    target = from_numpyro(problem.centred, *problem.data)
    starts = jax.vmap(target.start)(jax.random.split(jax.random.key(1), 4))
    assert np.isfinite(jax.vmap(jax.grad(target.logdensity))(starts)).all()


def test_hidden_states_are_summed_out():
    rng = np.random.default_rng(0)
    values = {
        "transition": rng.dirichlet(np.ones(states.CATEGORIES), size=states.CATEGORIES),
        "emission": rng.dirichlet(np.ones(states.WORDS), size=states.CATEGORIES),
    }
    labels, words = np.array([0, 1]), np.array([3, 4])

    def density(unlabelled):
        return log_density(states.hidden_markov, (labels, words, np.array(unlabelled)), {}, values)[0]

    seen = [2, 7, 7]
    transition, emission = values["transition"], values["emission"]
    paths = itertools.product(range(states.CATEGORIES), repeat=3)
    by_path = sum(
        transition[a, b] * transition[b, c] * emission[a, seen[0]] * emission[b, seen[1]] * emission[c, seen[2]]
        for a, b, c in paths
    )
    one = emission[:, seen[0]].sum()
    assert float(density(seen) - density(seen[:1])) == pytest.approx(np.log(by_path / one))


def test_deaths_of_animals_are_summed_out():
    histories = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
    values = {"mean": 0.6, "sigma": 0.5, "recapture": 0.7, "z": np.array([0.3, -1.0, 0.8])}
    a, b, c = 1 / (1 + np.exp(-(np.log(0.6 / 0.4) + 0.5 * values["z"])))  # survival from each year to the next
    missed_at_end = 1 - c + c * 0.3
    first = a * 0.3 * b * 0.7 * missed_at_end
    second = 1 - b + b * 0.3 * missed_at_end
    third = c * 0.7
    density, trace = log_density(states.capture_recapture, (histories,), {}, values)
    priors = sum(site["fn"].log_prob(jnp.asarray(values[name])).sum() for name, site in trace.items() if name in values)
    assert float(density - priors) == pytest.approx(np.log(first * second * third))


def made(r_hat, size, seconds=2.0, total=10.0):
    return ExampleRun(0, r_hat, size, size, seconds, total - seconds, total, 0, "Euclidean: NUTS")


def test_the_summary_says_where_ours_is_worse(capsys):
    results = {
        "good": Comparison([made(1.002, 900.0), made(1.004, 800.0)], [made(1.001, 400.0), made(1.002, 500.0)]),
        "small": Comparison([made(1.002, 300.0, total=40.0)], [made(1.001, 400.0)]),
        "apart": Comparison([made(1.05, 500.0)], [made(1.005, 400.0)]),
        "both apart": Comparison([made(1.05, 500.0)], [made(1.2, 40.0)]),
    }
    report.examples_table(results, 1000, 1000, is_cold=True)
    report.summary(results, is_cold=True)
    printed = capsys.readouterr().out
    worse = printed.split("NUTS in brackets.")[1]
    assert "small: ESS 300 (400)" in worse
    assert "apart: R̂ 1.050 (1.005)" in worse
    assert "good" not in worse
    assert "both" not in worse
    assert results["good"].medians(lambda run: run.per_second) == (425.0, 225.0)
    cold = next(line for line in printed.splitlines() if line.split()[:2] == ["seconds,", "cold"])
    assert cold.split() == ["seconds,", "cold", "1.00", "4.00", "small"]
    assert "good: Euclidean: NUTS" in printed


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--cold", "--no-cold"])
def test_the_command(tmp_path, option):
    figures = tmp_path / "figures.json"
    few = ["--only", "funnel", "--seeds", "2", "--draws", "100", "--warmup", "100"]
    result = CliRunner().invoke(app, ["examples", *few, option, "--json", str(figures)])
    assert result.exit_code == 0, result.output
    assert "Ratios of 1 problems" in result.output
    assert ("cold, s" in result.output) == (option == "--cold")
    runs = json.loads(figures.read_text())["problems"]["funnel"]
    assert [run["seed"] for run in runs["ours"]] == [run["seed"] for run in runs["nuts"]] == [0, 1]
    assert all(run["total_seconds"] > run["seconds"] for run in runs["ours"] + runs["nuts"])


def test_an_unknown_problem_is_refused():
    result = CliRunner().invoke(app, ["examples", "--only", "nothing"])
    assert "There is no problem nothing" in str(result.exception)


def test_an_unknown_sampler_is_refused(tmp_path):
    result = CliRunner().invoke(app, ["examples-one", "funnel", "nothing", "--json", str(tmp_path / "runs.json")])
    assert "There is no sampler nothing" in str(result.exception)


def test_a_sampler_that_fails_is_left_out(monkeypatch, capsys):
    from benchmarks.examples import run

    def fail(*_):
        raise ValueError("no")

    monkeypatch.setattr(run, "SAMPLERS", {"ours": fail, "NumPyro NUTS": fail})
    assert run.run(only=["funnel"], is_cold=False) == {}
    assert "funnel: ours is left out: ValueError: no" in capsys.readouterr().err
