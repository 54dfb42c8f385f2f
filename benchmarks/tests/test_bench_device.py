"""The benchmark of devices: what is measured first, what is left out when time is short, and the bias it would see."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.device import run, samplers
from benchmarks.device.bias import deviation
from benchmarks.device.problems import DeviceProblem
from benchmarks.device.run import Budget, Row, rows_of
from mongepatch.targets.truth import Normal

GPU, CPU = (SimpleNamespace(platform=name, device_kind=name.upper()) for name in ("gpu", "cpu"))


def test_what_matters_most_comes_first_and_nothing_comes_twice():
    rows = rows_of("heart", [GPU, CPU], [16_384, 1024])
    assert [(row.sampler, row.double, row.chains) for row in rows[:4]] == [
        ("ours", True, 16_384),
        ("ours", False, 16_384),
        ("ours, NUTS", True, 16_384),
        ("ours, NUTS", False, 16_384),
    ]
    assert rows[4:6] == [Row(GPU, "BlackJAX NUTS", False, 1024), Row(CPU, "ours", True, 1024)]
    assert len(rows) == len({row.names for row in rows}) == 8 + 2 + 2
    assert all(row.chains <= 1024 for row in rows if row.place is CPU or row.sampler == "BlackJAX NUTS")


def test_a_row_is_expected_to_take_as_long_as_the_last_of_its_kind():
    budget = Budget(100.0)
    row = Row(CPU, "ours", True, 100)
    assert budget.expected(row) == 0.0
    budget.took(row, 10.0)
    assert budget.expected(row._replace(chains=200)) == pytest.approx(20.0)
    assert budget.expected(row._replace(chains=50)) == pytest.approx(5.0)
    assert budget.expected(row._replace(sampler="other")) == 0.0
    budget.took(row._replace(place=GPU), 10.0)
    assert budget.expected(row._replace(place=GPU, chains=50)) == pytest.approx(10.0)


def drawn(mean, chains=400, draws=50, seed=0):
    return np.random.default_rng(seed).normal(mean, 1.0, (chains, draws))


def test_the_deviation_sees_a_bias_and_no_more():
    exact = Normal(0.0, 1.0)
    assert deviation(drawn(0.0), exact) < 4.0 < deviation(drawn(0.1), exact)
    assert deviation(drawn(0.0), drawn(0.0, seed=1)) < 4.0 < deviation(drawn(0.1), drawn(0.0, seed=1))


def test_rows_that_fail_or_do_not_fit_are_told(monkeypatch, capsys):
    problem = DeviceProblem("heart", lambda: None, "x", exact=Normal(0.0, 1.0))

    def fail(problem, chains, draws):
        raise MemoryError("too much\nfor this device")

    calls = {"ours": lambda problem, chains, draws: lambda seed: tree(drawn(0.0, chains, draws, seed))}
    monkeypatch.setattr(run, "SAMPLERS", {**calls, "ours, NUTS": fail, "BlackJAX NUTS": fail})
    monkeypatch.setattr(run, "device_problems", lambda: [problem])
    run.run(chains=[300], draws=20, only=["heart"])
    output = capsys.readouterr().out
    assert "| ours | double | 300 |" in output
    assert "failed: MemoryError: too much |" in output
    run.run(chains=[300], draws=20, only=["heart"], budget=-1.0)
    assert "not run: 0 s expected, 0 s left" in capsys.readouterr().out


def tree(values):
    posterior = type("Posterior", (dict,), {"attrs": {"sampling_time": 0.5, "warmup_time": 0.4}})(x=values)
    return {"posterior": posterior}


@pytest.mark.parametrize(("seconds_left", "seeds"), [(1e9, [0, 1]), (0.0, [0])])
def test_a_second_call_is_made_where_there_is_time(seconds_left, seeds):
    asked = []

    def calls(seed):
        asked.append(seed)
        return tree(drawn(0.0, 300, 20, seed))

    row = samplers.measured(DeviceProblem("x", lambda: None, "x"), calls, seconds_left)
    assert asked == seeds
    assert row.draws_per_second == 300 * 20 / 0.5
    assert row.effective_per_second * 0.5 == pytest.approx(6000, rel=4 * (2 / 300) ** 0.5)  # of a variance of 300 means
