"""The code in the documentation runs, and does what the page says."""

import re
from pathlib import Path

import arviz_stats
import numpy as np
import pytest

import mongepatch as mp

ROOT = Path(__file__).parent.parent


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # the page says that it warns
def test_the_readme_samples_what_it_says(capsys):
    namespace = {}
    for block in python_blocks("README.md"):
        exec(block, namespace)
    mean, sd = (float(word) for word in capsys.readouterr().out.split())
    v = namespace["tree"]["posterior"]["v"]
    errors = [arviz_stats.mcse(v, method=method).item() for method in ("mean", "sd")]
    assert abs(mean + 1.4009) < 4 * errors[0]
    assert abs(sd - 2.4391) < 4 * errors[1]
    assert v.min() < -8
    diverged = float(namespace["tree"]["sample_stats"]["diverging"].mean())
    assert diverged == pytest.approx(0.08, abs=0.02)
    hmc = mp.sample(
        namespace["logdensity"], {"theta": 0.0, "v": 0.0}, metric=mp.Euclidean(),
        trajectory=mp.Static(20, jitter=0.5), step_size=0.1, draws=10_000, progress=False,
    )["posterior"]["v"]  # fmt: skip
    assert (hmc.mean().item(), hmc.std().item()) == pytest.approx((-1.29, 2.31), abs=0.01)
    assert hmc.min().item() == pytest.approx(-6.5, abs=0.05)  # and so none below, as the table says
    assert (v < -8.5).mean().item() == pytest.approx(0.0041, abs=0.0001)


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # some of its trajectories diverge in the neck
def test_the_metric_of_the_docs_is_exact(capsys):
    namespace = {}
    (block,) = python_blocks("docs/metrics.md")
    exec(block, namespace)
    lines = capsys.readouterr().out.splitlines()
    a = namespace["tree"]["posterior"]["a"]
    errors = [arviz_stats.mcse(a, method=method).item() for method in ("mean", "sd")]
    mean, sd = (float(word) for word in lines[0].split())
    assert abs(mean) < 4 * errors[0]
    assert abs(sd - 15**0.5) < 4 * errors[1]
    assert abs(float(lines[1])) < 1e-10
    assert np.abs(namespace["back"] - namespace["z"] * np.array([1, 1, -1, -1])).max() < 1e-10


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        if not link.startswith("http"):
            assert ((ROOT / page).parent / link).exists(), link
