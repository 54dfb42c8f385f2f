"""The benchmark of peers: runs are judged by the truth, a peer that fails is one row, and tables say what was found."""

import html.parser

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.measures.fresh_process import FreshProcessError, fresh_process
from benchmarks.patches.quality import Quality
from benchmarks.patches.samplers import Sampler, SamplerOutcome
from benchmarks.peers import measure, report, run, samplers
from benchmarks.peers.measure import PeerRow, PeerRun
from benchmarks.peers.problems import peer_problems
from benchmarks.peers.samplers import SAMPLERS, PeerSampler
from benchmarks.pymc.models import pymc_models
from mongepatch import from_numpyro, from_pymc
from mongepatch.errors import DataError
from mongepatch.program.stopwatch import stopwatch


def made(size=1000.0, seconds=1.0, r_hat=1.001, deviation=1.0, call=9.0, seed=0):
    quality = Quality(size, r_hat, deviation, "v", {}, None, 0, seconds, seconds, 8.0, 0, "Euclidean: NUTS | 1")
    return PeerRun(seed, call, call / 2, quality)


DOWNLOADED = ("german", "australian")
"""Problems whose data may be missing."""

ROWS = [
    PeerRow("heart", "ours", [made(2000.0), made(1000.0, call=2.0), made(3000.0, call=4.0)]),
    PeerRow("heart", "BlackJAX NUTS", [made(4000.0)]),
    PeerRow("heart", "nutpie", [made(99_000.0, deviation=9.0)]),
    PeerRow("heart", "mici", failure="failed: not done after 5 s <b>"),
    PeerRow("schools", "ours", [made(900.0)]),
    PeerRow("schools", "PyMC", [made(800.0, r_hat=1.2)]),
    PeerRow("schools", "NumPyro NUTS, non-centred by hand", [made(5000.0)]),
    PeerRow("neal-9", "ours", [made(900.0)]),
    PeerRow("neal-9", "BlackJAX MCLMC", [made(300.0)]),
]


def test_the_best_peer_is_one_that_is_right_on_the_model_as_written():
    found = [(ratio.problem, round(ratio.value, 2), ratio.best) for ratio in report.ratios(ROWS)]
    assert found == [("heart", 0.5, "BlackJAX NUTS"), ("neal-9", 3.0, "BlackJAX MCLMC")]
    lines = report.worst_lines(ROWS)
    assert lines[0] == "heart: 0.50 times the ESS/s of BlackJAX NUTS"
    assert lines[-1] == "No peer is right on the model as written: schools"


def test_a_run_of_ours_that_is_wrong_is_the_worst_of_all():
    wrong = PeerRow("german", "ours", [made(deviation=5.0)])
    assert report.worst_lines([*ROWS, wrong, PeerRow("german", "PyMC", [made()])])[0] == (
        "german: ours is not right; PyMC is"
    )


def test_cold_is_the_first_call_and_warm_the_shortest_of_the_others():
    assert (ROWS[0].cold_seconds, ROWS[0].warm_seconds, ROWS[0].per_second) == (9.0, 2.0, 2000.0)
    assert ROWS[0].warm_cpu_seconds == 1.0
    assert ROWS[1].warm_seconds is ROWS[1].warm_cpu_seconds is None


def test_markdown_has_all_rows_and_as_many_cells_in_each():
    text = report.markdown(ROWS, "Peers", {"jax": "0.1"})
    table = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
    assert len(table) == len(ROWS) + 2
    assert {line.count("|") for line in table} == {len(report.COLUMNS) + 1}
    assert "failed: not done after 5 s" in text
    assert "0.50 times" in text
    assert "jax 0.1" in text


def test_the_page_is_whole_and_needs_no_network():
    text = report.page(ROWS, "Peers", {"jax": "0.1"})
    counted = {}

    class Counter(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            counted[tag] = counted.get(tag, 0) + 1

    Counter().feed(text)
    assert counted["tr"] == len(ROWS) + 1
    assert "b" not in counted  # what a peer says is escaped
    assert "http" not in text
    assert "src=" not in text


def stub(draw):
    def run_stub(task, plan):
        rng = np.random.default_rng(plan.seed)
        v = draw(rng, (plan.chains, plan.draws))
        x = np.exp(v / 2)[..., None] * rng.normal(size=(plan.chains, plan.draws, 9))
        return SamplerOutcome({"v": v, "x": x}, 1, 0.5, 0.0, None)

    return PeerSampler(lambda problem: Sampler("stub", run_stub), ())


@pytest.mark.parametrize(("sd", "verdict"), [(3.0, "right"), (2.5, "wrong")])
def test_draws_are_judged_by_the_truth(sd, verdict):
    sampler = stub(lambda rng, shape: rng.normal(0.0, sd, shape))
    runs = measure.measured(peer_problems()["neal-9"](), sampler, 1000, 10, [0, 1])
    assert [one.quality.verdict for one in runs] == [verdict] * 2
    assert [one.seed for one in runs] == [0, 1]


def test_a_process_that_hangs_is_ended_and_one_that_fails_says_why():
    with pytest.raises(FreshProcessError, match=r"not done after 0.05 s"):
        fresh_process(measure.COMMAND, "neal-9", "mici", timeout=0.05)
    with pytest.raises(FreshProcessError, match="There is no sampler nothing"):
        fresh_process(measure.COMMAND, "neal-9", "nothing")


def test_a_peer_that_is_not_installed_or_fails_is_one_row(tmp_path, monkeypatch, capsys):
    absent = PeerSampler(lambda problem: None, ("no-such-package",))
    monkeypatch.setitem(samplers.SAMPLERS, "absent", absent)

    def fail(command, problem, sampler, *options, timeout):
        raise FreshProcessError(f"ValueError: {sampler}")

    monkeypatch.setattr(measure, "fresh_process", fail)
    rows = run.run(only=["neal-9"], samplers=["ours", "absent"], out=tmp_path)
    assert [row.failure for row in rows] == ["failed: ValueError: ours", "not installed: no-such-package"]
    assert "not installed: no-such-package" in (tmp_path / "peers.md").read_text()
    assert "not installed: no-such-package" in (tmp_path / "peers.html").read_text()
    assert "absent: not installed" in capsys.readouterr().out


def test_a_problem_without_its_data_is_one_row(tmp_path, monkeypatch):
    def missing():
        raise DataError("The dataset is missing.")

    monkeypatch.setattr(run, "peer_problems", lambda: {"heart": missing})
    (row,) = run.run(out=tmp_path)
    assert row.failure == "left out: The dataset is missing."


def test_unknown_names_are_refused():
    for option in ("--only", "--samplers"):
        result = CliRunner().invoke(app, ["peers", option, "nothing"])
        assert "nothing" in str(result.exception)


def test_one_stopwatch_inside_another_keeps_both():
    with stopwatch() as outer, stopwatch() as inner:
        jax.jit(lambda x: x + 1.2345)(0.0).block_until_ready()
    assert 0.0 < inner.compiling <= outer.compiling <= outer.total


def test_every_problem_has_what_samplers_need():
    builders = peer_problems()
    assert set(builders) == set(pymc_models())
    assert {name for sampler in SAMPLERS.values() for name in sampler.problems or ()} <= set(builders)
    for name in set(builders) - set(DOWNLOADED):
        problem = builders[name]()
        assert problem.name == name
        assert problem.forms or set(problem.others) <= set(problem.exact), name
        if SAMPLERS["NumPyro NUTS, non-centred by hand"].suits(name):
            assert next(iter(problem.forms.values())) is not problem.centred


@pytest.mark.slow
@pytest.mark.parametrize("name", list(peer_problems()))
def test_a_model_in_pymc_is_the_one_in_numpyro(name):
    pytest.importorskip("pymc")
    try:
        problem = peer_problems()[name]()
    except DataError as error:
        pytest.skip(str(error))
    mine, other = from_pymc(pymc_models()[name](*problem.data)), from_numpyro(problem.centred, *problem.data)
    assert mine.layout.names == other.layout.names
    points = np.random.default_rng(0).normal(size=(3, other.dimension))
    differences = [float(mine(x) - other(x)) for x in points]
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BlackJAX MCLMC", "BlackJAX MAMS", "mici", "WALNUTS", "nutpie", "PyMC"])
def test_the_command_runs_each_peer_in_its_own_process(tmp_path, name):
    if SAMPLERS[name].missing:
        pytest.skip(f"{SAMPLERS[name].missing} are not installed")
    few = ["--only", "neal-9", "--seeds", "2", "--draws", "100", "--warmup", "100", "--samplers", name]
    result = CliRunner().invoke(app, ["peers", *few, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "failed" not in result.output
    assert f"| neal-9 | {name} |" in (tmp_path / "peers.md").read_text()
