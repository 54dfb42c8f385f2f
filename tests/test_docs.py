"""The code in the documentation runs, and does what the page says."""

import re
from pathlib import Path

import arviz_stats
import jax
import jax.numpy as jnp
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
    assert hmc.min().item() == pytest.approx(-6.5, abs=0.05)


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # some of its trajectories diverge in the neck
def test_the_metric_of_the_docs_is_exact():
    namespace = {}
    (block,) = python_blocks("docs/metrics.md")
    exec(block, namespace)
    metric, density = namespace["Conformal"](0.5), mp.targets.funnel(2)
    x, v = jnp.array([0.3, -0.2, 0.5]), jnp.array([0.5, 0.1, -0.4])

    def end(z):
        path = mp.integrate(density, metric, z[:3], z[3:], 0.1, 4)
        return jnp.concatenate([path.position[-1], path.velocity[-1]]), path

    jacobian, path = jax.jacfwd(end, has_aux=True)(jnp.concatenate([x, v]))
    assert path.log_volume[-1] == pytest.approx(float(jnp.linalg.slogdet(jacobian)[1]), abs=1e-10)
    back = mp.integrate(density, metric, path.position[-1], -path.velocity[-1], 0.1, 4)
    np.testing.assert_allclose(back.position[-1], x, atol=1e-12)
    assert namespace["draws"]["posterior"]["a"].shape == (4, 1000)


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        if not link.startswith("http"):
            assert ((ROOT / page).parent / link).exists(), link
