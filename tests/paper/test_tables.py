"""Figures 5 and 6 and Table 2: the samplers they run, the numbers they keep, and the verdicts these lead to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from helpers import sample_quietly

from mongepatch import datasets
from mongepatch.paper import figure_5, figure_6, funnels, regressions, table_2
from mongepatch.paper.style import styled
from mongepatch.paper.walnuts import CompiledFunnel
from mongepatch.targets import funnel

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _styled():
    with styled():
        yield


def funnel_run(sampler, dimension, kl, **others):
    return {
        "sampler": sampler,
        "dimension": dimension,
        "kl": np.full(4, kl),
        "ks": kl / 3,
        "least": -12.0,
        "quantiles": np.asarray([-11.0, -9.0, 0.0, 9.0]),
        "histogram": np.ones(64) / 32,
        "acceptance_rate": 0.9,
        "divergences": 0.0,
        "n_grad": 10.0,
        "seconds": 1.0,
        "chosen": "",
        **others,
    }


def section_5(runs):
    return figure_5.present({f"{run['sampler']}, {run['dimension']}": run for run in runs})


def test_figure_5_judges_the_metric_by_its_control():
    def runs(monge, flat, nuts):
        return [
            funnel_run(sampler, dimension, kl)
            for sampler, values in (("LMC-Monge", monge), ("HMC", flat), ("NUTS", nuts))
            for dimension, kl in zip((1, 10), values, strict=True)
        ]

    def verdicts(*values):
        return [claim.verdict for claim in section_5(runs(*values)).claims]

    assert verdicts((0.01, 0.02), (0.1, 0.3), (0.1, 0.5)) == ["holds", "holds", "holds"]
    assert verdicts((0.01, 0.5), (0.1, 0.1), (0.1, 0.1)) == ["holds in part", "holds in part", "does not hold"]
    assert verdicts((0.2, 0.5), (0.1, 0.1), (0.1, 0.1)) == ["does not hold", "does not hold", "does not hold"]


def test_figure_5_does_with_what_there_is():
    section = section_5([funnel_run("WALNUTS", 3, 0.1, acceptance_rate=None, divergences=None)])
    assert [claim.verdict for claim in section.claims] == ["not checked"] * 3
    assert section.tables[0].rows[0][:2] == (3, "WALNUTS")


@pytest.mark.parametrize(
    "sampler", ["WALNUTS", *(pytest.param(name, marks=pytest.mark.slow) for name in ("HMC", "LMC-Monge", "NUTS"))]
)
def test_samplers_of_the_funnel_are_judged(sampler):
    if sampler == "WALNUTS":
        pytest.importorskip("walnutpie", reason="WALNUTS is in the extra peers")
        pytest.importorskip("numba", reason="numba is in the extra peers")
    run = funnels.judged(sampler, 3, 200, 0)
    assert run["kl"].shape == (4,)
    assert run["kl"].min() > 0
    assert 0 < run["ks"] < 1
    assert np.diff(run["quantiles"]).min() >= 0


@pytest.mark.slow
def test_the_automatic_sampler_takes_the_patch_where_it_knows_the_residuals():
    run = funnels.judged("automatic, residuals", 10, 300, 0)
    assert "Patch" in run["chosen"]
    assert run["least"] < -8


def test_residuals_of_the_funnel_are_standard_normal():
    target = funnel(3)
    draws = target.truth.draw(jax.random.key(0), 20_000)
    whitened = jax.vmap(target.with_residuals(funnels.residuals).residuals)(draws)
    assert np.abs(np.asarray(jnp.cov(whitened.T)) - np.eye(4)).max() < 0.05


def test_the_compiled_funnel_is_the_funnel():
    pytest.importorskip("walnutpie", reason="WALNUTS is in the extra peers")
    pytest.importorskip("numba", reason="numba is in the extra peers")
    compiled, target = CompiledFunnel(), funnel(4)
    function, counter = compiled.logp
    levels = []
    for position in np.random.default_rng(0).normal(size=(20, 5)) * [1, 1, 1, 1, 6]:
        gradient, value = np.zeros(5), np.zeros(1)
        pointers = [array.ctypes.data_as(function.argtypes[1]) for array in (position, gradient, value)]
        assert function(5, *pointers, counter) == 0
        levels.append(value[0] - target(position))
        np.testing.assert_allclose(gradient, jax.grad(target.logdensity)(position), rtol=1e-9, atol=1e-12)
    assert np.ptp(levels) < 1e-9
    assert compiled.count == 20


def test_the_mode_of_a_regression_is_one():
    target = datasets.load("heart").target()
    assert jnp.abs(jax.grad(target.logdensity)(regressions.mode(target))).max() < 1e-9


@pytest.mark.slow
def test_a_capped_size_is_at_most_the_draws_and_others_are_not():
    tree = sample_quietly(
        datasets.load("heart").target(), draws=200, warmup=200, metric="euclidean", progress=False, seed=1
    )
    found = regressions.efficiency(tree)
    assert found["capped"].max() <= 200
    assert found["bulk"].max() > 200
    assert found["least"] <= min(found["bulk"][0], found["tail"][0])
    assert found["capped"][0] <= found["capped"][1]


def test_a_chain_that_stands_still_is_worth_nothing():
    still = xarray.DataTree.from_dict(
        {
            "posterior": xarray.Dataset(
                {"beta": (("chain", "draw", "column"), np.stack([np.zeros((100, 2)), RNG.normal(size=(100, 2))]))},
                attrs={"sampling_time": 1.0},
            ),
            "sample_stats": xarray.Dataset(
                {name: (("chain", "draw"), np.ones((2, 100))) for name in ("acceptance_rate", "diverging", "n_grad")}
            ),
        }
    )
    assert regressions.efficiency(still)["capped"].max() <= 50


def regression_run(data, sampler, capped, least=100.0, seconds=1.0):
    sizes = np.full(3, float(capped))
    return {
        "data": data, "sampler": sampler, "capped": sizes, "bulk": sizes, "tail": sizes, "least": least, "draws": 1000,
        "chains": 4, "acceptance_rate": 0.8, "divergences": 0.0, "n_grad": 1e5, "seconds": seconds, "chosen": "",
    }  # fmt: skip


def test_table_2_asks_whether_it_is_the_metric():
    def verdicts(control, euclidean, fisher_seconds):
        runs = [
            regression_run("heart", "LMC-Monge", 1000),
            regression_run("heart", "HMC, same ε and L", control),
            regression_run("heart", "HMC-Euclidean", euclidean),
            regression_run("heart", "LMC-Fisher", 1000, seconds=fisher_seconds),
        ]
        section = table_2.present({run["sampler"]: run for run in runs})
        return [claim.verdict for claim in section.claims]

    assert verdicts(control=1000, euclidean=100, fisher_seconds=5.0) == ["holds", "does not hold", "holds"]
    assert verdicts(control=500, euclidean=1000, fisher_seconds=0.5) == ["does not hold", "holds", "does not hold"]


def test_table_2_sets_the_papers_figures_beside_ours():
    runs = [regression_run("south-german", "LMC-Monge", 900), regression_run("german", "NUTS", 900)]
    table = table_2.present({run["data"]: run for run in runs}).tables[0]
    names = [column.name for column in table.columns]
    german, south = (dict(zip(names, row, strict=True)) for row in table.rows)
    assert south["paper: ESS, least"] == 13390
    assert south["paper: seconds"] == 71
    assert south["capped ESS, least"] == 900
    assert german["paper: ESS, least"] is None


def test_presets_of_both_german_sets_are_the_papers():
    assert regressions.preset_of("south-german", "LMC-Monge") == regressions.preset_of("german", "LMC-Monge")
    assert regressions.preset_of("heart", "HMC, same ε and L").num_steps == 7


@pytest.mark.parametrize(("gain", "verdict"), [(1.0, "does not hold"), (1.6, "holds")])
def test_figure_6_holds_where_some_metric_makes_better_draws(gain, verdict):
    run = {
        "data": "heart", "alpha": np.asarray([0.0, 0.01, 0.1]), "least": np.asarray([400.0, 400.0 * gain, 5.0]),
        "n_grad": np.asarray([7e4, 3e5, 3e5]), "seconds": np.ones(3), "acceptance_rate": np.ones(3),
        "capped": np.full((3, 3), 900.0), "draws": 4000,
    }  # fmt: skip
    section = figure_6.present({"heart": run})
    assert section.claims[0].verdict == verdict
    assert len(section.tables[0].rows) == 3


def test_figure_6_does_not_judge_by_a_handful_of_effective_draws():
    run = {
        "data": "german", "alpha": np.asarray([0.0, 0.01]), "least": np.asarray([10.0, 35.0]), "n_grad": np.ones(2),
        "seconds": np.ones(2), "acceptance_rate": np.ones(2), "capped": np.full((2, 3), 9.0), "draws": 4000,
    }  # fmt: skip
    assert figure_6.present({"german": run}).claims[0].verdict == "not checked"


@pytest.mark.slow
def test_figure_6_sweeps_alpha_and_counts_a_flat_step_as_one_gradient():
    run = regressions.swept("heart", [0.0, 0.1], 0.09, 7, draws=100, warmup=20, seed=0)
    assert run["n_grad"][0] == 4 * 100 * 7
    assert run["n_grad"][1] > 3 * run["n_grad"][0]
    assert (run["least"] > 0).all()
