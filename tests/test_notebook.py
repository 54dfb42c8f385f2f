"""The notebook can be read as it is, and its code runs."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted(DOCS.glob("*.ipynb"))
# What is put into the place of the settings of a notebook, so that it runs in seconds rather than minutes.
SHORT = {"DRAWS": 50, "WARMUP": 100}
PER_NOTEBOOK = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def text(value):
    """Lines of a notebook are one string, or several."""
    return value if isinstance(value, str) else "".join(value)


def cells_of(path, kind):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def test_there_is_a_notebook():
    assert NOTEBOOKS


@PER_NOTEBOOK
def test_it_has_the_structure_of_nbformat_4(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert notebook["nbformat"] == 4
    assert notebook["nbformat_minor"] >= 5  # from which on cells have names
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
    for cell in notebook["cells"]:
        assert cell["cell_type"] in ("markdown", "code")
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"id", "cell_type", "metadata", "source"} | code
        assert text(cell["source"]).strip()


@PER_NOTEBOOK
def test_it_was_run_from_top_to_bottom_without_errors(path):
    cells = cells_of(path, "code")
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    for output in outputs:
        assert output["output_type"] in ("display_data", "execute_result", "stream")
        assert output.get("name") != "stderr"


@PER_NOTEBOOK
def test_it_is_small_and_says_nothing_of_the_machine_that_ran_it(path):
    assert path.stat().st_size < 300_000
    written = re.sub(r'"image/png": "[^"]*"', "", path.read_text(encoding="utf-8"))
    assert not re.search(r"/(?:tmp|root|home|work|Users)\b|[A-Z]:\\\\", written)


@PER_NOTEBOOK
def test_its_links_lead_somewhere(path):
    for cell in cells_of(path, "markdown"):
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]+)?\)", text(cell["source"])):
            assert link.startswith("http") or (path.parent / link).exists(), link


def shortened(source):
    """A cell with the settings that take long made small; all of them must be there, in the first cell."""
    for name, value in SHORT.items():
        source, found = re.subn(rf"^{name} = [\d_]+", f"{name} = {value}", source, flags=re.MULTILINE)
        assert found == 1, name
    return source


@pytest.mark.slow  # most of it is compiling the warm-up of `mp.sample`
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # short runs
@PER_NOTEBOOK
def test_its_code_runs(path, monkeypatch, capsys):
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    first, *others = (text(cell["source"]) for cell in cells_of(path, "code"))
    namespace = {}
    with pyplot.rc_context():  # the notebook has settings of its own
        for source in (shortened(first), *others):
            exec(compile(source, path.name, "exec"), namespace)
        pyplot.close("all")
    assert namespace["runs"]["HMC"]["posterior"]["a"].shape == (4, SHORT["DRAWS"])
    assert "metric" in capsys.readouterr().out


@PER_NOTEBOOK
def test_what_it_says_of_trajectories_holds(path, capsys):
    """The cells up to the first that samples, which take seconds."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    namespace = {}
    with pyplot.rc_context():
        for cell in cells_of(path, "code"):
            source = text(cell["source"])
            if "mp.sample(" in source:
                break
            exec(compile(source, path.name, "exec"), namespace)
        pyplot.close("all")
    rows = [[float(word) for word in line.split()] for line in capsys.readouterr().out.splitlines()[1:]]
    alphas, swings, angles, errors = zip(*rows, strict=True)
    assert alphas == (0.0, 0.3, 1.0, 3.0, 10.0)
    assert swings[0] > 4.5 * swings[3]
    assert max(angles) - min(angles) < 0.02
    assert errors[3] > 50 * errors[0]
    assert errors[4] > 4
