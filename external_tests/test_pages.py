"""The code of pages that need PyMC, Stan or ArviZ's plots runs; `tests/test_docs.py` runs that of all others."""

import pytest
from test_docs import few, python_blocks, run_blocks
from trilingual import STAN_SCHOOLS

import mongepatch as mp

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # short runs, and old names within the libraries
]
START = """
import numpy as np, pymc as pm
import mongepatch as mp
y, sigma = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
with pm.Model() as model:
    pm.Normal("y", pm.Normal("theta", 0, 10, shape=8), np.array(sigma, float), observed=y)
data = {"J": 8, "y": y, "sigma": sigma}
"""
"""What the block of the first page on PyMC and Stan takes as given."""


@pytest.fixture
def short(monkeypatch):
    """Few draws, whichever function a page calls, and plots without a window."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.setattr(mp, "sample_pymc", few(mp.sample_pymc, draws=30, tune=40))
    yield
    pyplot.close("all")


@pytest.mark.parametrize(
    ("page", "needs"),
    [
        ("docs/guide_pymc.md", ["pymc"]),
        ("docs/guide_stan.md", ["httpstan"]),
        ("docs/pymc.md", ["pymc"]),
        ("docs/workflow.md", ["arviz", "arviz_plots"]),
    ],
)
def test_pages_run(page, needs, short, monkeypatch, tmp_path):
    for module in needs:
        pytest.importorskip(module)
    blocks = [block.replace("draws=2000, tune=1000", "draws=30, tune=30") for block in python_blocks(page, "python|py")]
    run_blocks(blocks, monkeypatch, tmp_path)


def test_the_first_page_runs_models_of_pymc_and_stan(short, monkeypatch, tmp_path):
    pytest.importorskip("pymc")
    pytest.importorskip("httpstan")
    (block,) = python_blocks("docs/start.md", "py")
    run_blocks([START, f'code = """{STAN_SCHOOLS}"""', block], monkeypatch, tmp_path)
