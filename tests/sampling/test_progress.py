"""What is shown while a run goes on: on a terminal, in a file, in a notebook with and without widgets."""

import io
import logging
import sys
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch.program import jit, watch_compilation
from mongepatch.sampling import progress

rich_console = pytest.importorskip("rich.console")

SETTINGS = {"metric": mp.Euclidean(), "trajectory": mp.Static(3), "draws": 20, "warmup": 30, "chains": 2}


def normal(x):
    return -0.5 * x @ x


def info(draws, chains=2, diverging=False):
    shape = (draws, chains)
    return SimpleNamespace(lp=np.zeros(shape), acceptance_rate=np.ones(shape), diverging=np.full(shape, diverging))


def lines_of(monkeypatch, console):
    """A report that writes somewhere else."""
    monkeypatch.setattr(progress, "_console", lambda: console)
    return progress.progress_report(100, 50, 2, show=True)


def drive(report):
    report.compiling("run_chunk")
    report(info(100, diverging=True), 0.1)
    report.message("what was chosen")
    report.begin_sampling(100, 0)
    report.compiling("run_chunk")
    report(info(50), 0.1)


def test_a_bar_tells_compiling_warm_up_and_sampling_apart(monkeypatch):
    out = io.StringIO()
    with lines_of(monkeypatch, rich_console.Console(file=out, force_terminal=True, width=200)) as report:
        drive(report)
    shown = out.getvalue()
    last = shown.split("150/150")[-1]
    for part in ("warm-up", "compiling …", "100/150", "what was chosen", "sampling"):
        assert part in shown
    assert "0 divergent" in last
    assert "200 divergent" not in shown


@pytest.mark.parametrize("kind", ["a file", "a notebook without widgets"])
def test_plain_text_elsewhere(monkeypatch, capsys, kind):
    console = rich_console.Console(file=io.StringIO(), force_jupyter=kind != "a file")
    monkeypatch.setattr(progress, "_has_widgets", lambda: False)
    with lines_of(monkeypatch, console) as report:
        drive(report)
    captured = capsys.readouterr()
    text, other = (captured.err, captured.out) if kind == "a file" else (captured.out, captured.err)
    assert other == ""
    assert text.splitlines()[0] == "warm-up: 0 of 100 draws of each chain, compiling …"
    assert "what was chosen" in text
    assert "sampling: 0 of 50 draws of each chain, compiling …" in text
    last = "sampling: 50 of 50 draws of each chain · 500/s a chain · accept 1.00 · 0 divergent"
    assert text.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("chains", "seconds", "shown"),
    [(4, 2.5, "100 of 200 draws of each chain · 40/s a chain ·"), (1, 40.0, "100 of 200 draws · 2.5/s ·")],
)
def test_the_count_and_the_rate_have_one_unit(chains, seconds, shown):
    tally = progress._Tally(0, 200, chains)
    tally.add(info(100, chains), seconds)
    assert f"{tally.of_stage} · {tally.note}".startswith(shown)


def test_lines_of_text_are_few(monkeypatch, capsys):
    with lines_of(monkeypatch, rich_console.Console(file=io.StringIO())) as report:
        for _ in range(50):
            report.compiling("a small program")
            report(info(1), 0.01)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_programs_are_told_when_they_are_compiled_and_not_when_they_run():
    told = []

    def add_one(x):
        return x + 1

    compiled = jit(add_one)
    with watch_compilation(told.append):
        compiled(1.0)
        compiled(2.0)
    compiled(jnp.ones(2))
    assert told == ["add_one"]


def test_the_choice_is_told_without_a_bar(capsys, caplog):
    with caplog.at_level(logging.INFO, logger="mongepatch"):
        mp.sample(normal, jnp.zeros(2), **SETTINGS | {"metric": "auto"}, progress=False)
        assert capsys.readouterr() == ("", "")
        assert "no metric and no trajectory is chosen" in caplog.text
        assert "convergence is not checked: R̂, effective sizes and BFMI need 100 draws" in caplog.text
        mp.sample(normal, jnp.zeros(2), **SETTINGS | {"metric": "auto"}, progress=False, verbose=True)
    assert "no metric and no trajectory is chosen" in capsys.readouterr().err
    mp.sample(normal, jnp.zeros(2), **SETTINGS | {"metric": "auto"}, verbose=False)
    assert "no metric" not in capsys.readouterr().err


NOTEBOOK_CELL = """
import warnings, jax.numpy as jnp, mongepatch as mp
warnings.simplefilter("always")
{hide}
tree = mp.sample(lambda x: -0.5 * x @ x, jnp.zeros(2), draws=1000, warmup=300)
"""


@pytest.mark.slow
@pytest.mark.parametrize("widgets", [True, False], ids=["widgets", "no widgets"])
def test_a_notebook(widgets):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    if widgets:
        pytest.importorskip("ipywidgets")
    hide = "" if widgets else "import sys; sys.modules['ipywidgets'] = None"
    cell = nbformat.v4.new_code_cell(NOTEBOOK_CELL.format(hide=hide))
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name=_kernel()).execute()
    outputs = notebook.cells[0].outputs
    text = "\n".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)
    assert "ipywidgets" not in text
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert "metric Euclidean" in text
    if not widgets:
        assert "warm-up: 0 of 300 draws of each chain, compiling …" in text
        assert "sampling: 1,000 of 1,000 draws of each chain" in text


def _kernel():
    """The name of a kernel that runs this very Python."""
    manager = pytest.importorskip("jupyter_client.kernelspec").KernelSpecManager()
    for name in manager.find_kernel_specs():
        if manager.get_kernel_spec(name).argv[0] in (sys.executable, "python", "python3"):
            return name
    pytest.skip("no kernel runs this Python")


def test_a_warm_up_that_ends_early_leaves_fewer_draws_to_wait_for(monkeypatch):
    out = io.StringIO()
    with lines_of(monkeypatch, rich_console.Console(file=out, force_terminal=True, width=200)) as report:
        report(info(60), 0.1)
        report.begin_sampling(60, 0)
        report(info(50), 0.1)
    assert "60/150" in out.getvalue()
    assert "110/110" in out.getvalue()
