"""The code in the documentation runs, and does what the page says."""

import inspect
import re
from pathlib import Path

import arviz_stats
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but

import mongepatch as mp
from mongepatch.frontends.residuals import families

ROOT = Path(__file__).parent.parent


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


PAGES = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "metrics",
            "samplers",
            "data",
            "numpyro",
            "residuals",
            "workflow",
            "arguments",
            "long_runs",
            "clusters",
        )
    ),
)


@pytest.mark.parametrize("page", slow_but(PAGES, "README.md"))
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning", "ignore:Estimated shape")  # runs are short
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of arviz_stats.compare, with a new pandas
def test_pages_run(page, monkeypatch, tmp_path):
    """Every block of code runs, with few draws; that it does what the page says is for the slow tests."""

    def few(sampler, **most):
        def run(*args, **options):
            return sampler(*args, **options | {name: min(options.get(name, n), n) for name, n in most.items()})

        return run

    monkeypatch.setattr(mp, "sample", few(mp.sample, draws=20, warmup=40))
    monkeypatch.setattr(mp.baselines, "nuts", few(mp.baselines.nuts, draws=20, warmup=40))
    monkeypatch.chdir(tmp_path)  # one page writes a store
    namespace = {}
    for block in python_blocks(page):
        exec(re.sub(r"num_(warmup|samples)=\d+", r"num_\1=20", block), namespace)


@pytest.mark.slow
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
    for name in ("groups", "tree"):
        assert "whitened" in namespace[name]["posterior"].attrs["chosen"]
    assert namespace["monge"]["posterior"].attrs["metric"] == "Monge"
    assert namespace["groups"]["posterior"]["theta"].dims == ("chain", "draw", "group")
    v = namespace["fixed"]["posterior"]["v"]
    for tree in (namespace["monge"], namespace["fixed"]):
        assert float(tree["sample_stats"]["diverging"].mean()) == pytest.approx(0.08, abs=0.02)

    def hmc(num_steps, step_size):
        trajectory = mp.Static(num_steps, jitter=0.5)
        options = {"trajectory": trajectory, "step_size": step_size, "draws": 10_000, "progress": False}
        init = {"theta": 0.0, "v": 0.0}
        return mp.sample(namespace["logdensity"], init, metric=mp.Euclidean(), **options)["posterior"]["v"]

    same, finer = hmc(20, 0.1), hmc(60, 0.1 / 3)
    assert -7.0 < same.min().item() < -6.0  # how far it gets is a matter of its step, not of luck
    assert -9.0 < finer.min().item() < -7.8
    for hmc_v, figures in ((same, (-1.29, 2.31)), (finer, (-1.39, 2.40))):
        for value, figure, method in zip((hmc_v.mean(), hmc_v.std()), figures, ("mean", "sd"), strict=True):
            assert abs(value.item() - figure) < 4 * arviz_stats.mcse(hmc_v, method=method).item()
    assert (v < -8.5).mean().item() == pytest.approx(0.0077, abs=0.003)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # some of its trajectories diverge in the neck
def test_the_metric_of_the_docs_is_exact(capsys):
    namespace = {}
    first, patch, block = python_blocks("docs/metrics.md")
    exec(patch, namespace)
    assert np.isfinite(namespace["state"].position).all()
    exec(first, namespace)
    v = namespace["tree"]["posterior"]["v"]
    assert abs(v.mean().item()) < 4 * arviz_stats.mcse(v).item()
    assert abs(v.std().item() - 3.0) < 4 * arviz_stats.mcse(v, method="sd").item()
    point, _ = namespace["decay"].at(lambda x: -0.5 * x @ x, jnp.zeros(2))
    assert np.isfinite(point.factor).all()
    capsys.readouterr()
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
    assert not re.search(r"[A-Z]_TABLE", text)
    for link, anchor in re.findall(r"\]\(([^)#]+)(#[^)]+)?\)", text):
        if not link.startswith("http"):
            linked = (ROOT / page).parent / link
            assert linked.exists(), link
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
            assert not anchor or anchor[1:] in {heading.lower().replace(" ", "-") for heading in headings}, anchor


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # short runs
def test_the_pages_on_samplers_and_data_run():
    namespace = {}
    for page in ("docs/samplers.md", "docs/data.md"):
        for block in python_blocks(page):
            exec(block, namespace)
    means = [namespace[name]["posterior"]["beta"].mean(("chain", "draw")) for name in ("nuts", "rmhmc", "stan_like")]
    for other in means[1:]:
        np.testing.assert_allclose(other, means[0], atol=0.08)
    assert not namespace["rmhmc"]["sample_stats"]["diverging"].any()
    assert namespace["target"].dimension == 25


def test_the_page_on_arguments_has_every_one():
    page = (ROOT / "docs/arguments.md").read_text(encoding="utf-8")
    rows = {
        name
        for line in page.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert rows == set(inspect.signature(mp.sample).parameters)


def test_the_page_on_numpyro_has_every_formula():
    page = (ROOT / "docs/numpyro.md").read_text(encoding="utf-8").replace("\\|", "|")
    for family in families():
        assert family.formula in page
        assert family.of_data in page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # it may diverge once or twice
def test_the_page_on_numpyro_does_what_it_says(capsys):
    namespace = {}
    for block in python_blocks("docs/numpyro.md"):
        exec(block, namespace)
    out = capsys.readouterr().out
    assert float(out.split()[0]) == pytest.approx(6.2, abs=1.5)
    assert "√½·(log x − log scale)" in out
    assert namespace["mcmc"].get_samples()["theta"].shape == (1200, 8)
    assert not namespace["mcmc"].get_extra_fields()["diverging"].any()
