"""Figures 2 to 4 of the paper and its squiggle: their mathematics, their verdicts, and that they are drawn."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but

from mongepatch.metrics import Fisher, Monge
from mongepatch.paper import figure_2, figure_3, figure_4, preset, squiggle
from mongepatch.paper.chains import METHODS, run
from mongepatch.paper.ellipses import angles, ellipse, matrices
from mongepatch.paper.funnel_runs import TRUTH
from mongepatch.paper.paths import follow
from mongepatch.paper.style import styled
from mongepatch.paper.verdicts import graded
from mongepatch.targets import banana, ring
from mongepatch.targets import squiggle as squiggle_target

pytest.importorskip("matplotlib")
pytest.importorskip("blackjax")

ITEMS = {module.ITEM.name: module.ITEM for module in (figure_2, figure_3, figure_4, squiggle)}


@pytest.fixture(scope="module")
def tiny():
    """Results of every task with a few draws, done once; what is sampled, on one target for all, to compile it once."""
    kept = {}

    def compute(task):
        if task.compute is not run:
            return task.compute(**{**task.settings, **({"draws": 40} if "draws" in task.settings else {})})
        method = task.settings["method"]
        if method not in kept:
            (like,) = (other for other in squiggle.ITEM.tasks("quick") if other.label == f"squiggle-1, {method}")
            kept[method] = run(**{**like.settings, "draws": 40, "warmup": 20})
        return kept[method]

    def results(name):
        if name not in kept:
            kept[name] = {task.label: compute(task) for task in ITEMS[name].tasks("quick")}
        return dict(kept[name])

    return results


def present(item, results):
    with styled():
        section = item.present(results)
        for figure in section.figures:
            figure.drawing.canvas.draw()  # labels and legends are laid out only then
    for table in section.tables:
        for row in table.rows:
            assert len(row) == len(table.columns)
            for value, column in zip(row, table.columns, strict=True):
                assert value is None or format(value, column.form)
    return section


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
@pytest.mark.parametrize("size", ["quick", "full"])
def test_tasks_have_labels_of_their_own_and_plain_settings(item, size):
    tasks = item.tasks(size)
    assert len({task.label for task in tasks}) == len(tasks)
    for task in tasks:
        assert json.loads(json.dumps(task.settings)) == task.settings
        assert getattr(__import__(task.compute.__module__, fromlist=["_"]), task.compute.__name__) is task.compute


@pytest.mark.slow
@pytest.mark.parametrize("name", ITEMS)
def test_all_is_drawn_of_all_results(name, tiny):
    results = tiny(name)
    for numbers in results.values():
        json.dumps({key: value for key, value in numbers.items() if not isinstance(value, np.ndarray)})
    section = present(ITEMS[name], results)
    assert section.figures
    assert all(claim.verdict != "not checked" for claim in section.claims)
    assert all(figure.caption and figure.alternative for figure in section.figures)


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(ITEMS, *(set(ITEMS) - {"figure-4", "squiggle"})))
@pytest.mark.parametrize("kept", ["all but the first", "all but the last", "the first", "the last"])
def test_what_is_missing_is_left_out(name, kept, tiny):
    labels = list(tiny(name))
    chosen = {"all but the first": labels[1:], "all but the last": labels[:-1]}.get(kept)
    chosen = chosen or [labels[0] if kept == "the first" else labels[-1]]
    section = present(ITEMS[name], {label: tiny(name)[label] for label in chosen})
    assert section.figures
    if kept in ("the first", "the last"):
        assert any(claim.verdict == "not checked" for claim in section.claims)


@pytest.mark.parametrize("metric", [Monge(1.7), Fisher(banana().information)], ids=["Monge", "Fisher"])
def test_ellipses_are_of_constant_speed(metric):
    positions = jnp.asarray([[0.3, -1.2], [1.1, 0.4]])
    found = matrices(metric, banana(), positions)
    for position, matrix in zip(positions, found, strict=True):
        gradient = jax.grad(banana().logdensity)(position)
        expected = (
            np.eye(2) + 1.7**2 * np.outer(gradient, gradient)
            if isinstance(metric, Monge)
            else banana().information(position)
        )
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)
        v = ellipse(matrix, 0.3)
        np.testing.assert_allclose(np.einsum("in,ij,jn->n", v, matrix, v), 0.09, rtol=1e-12)
        assert np.ptp(np.unwrap(np.arctan2(*v))) == pytest.approx(2 * np.pi)  # all around


def test_modes_of_the_banana_are_its_modes():
    for mode in figure_2.MODES:
        np.testing.assert_allclose(jax.grad(banana().logdensity)(jnp.asarray(mode)), 0.0, atol=1e-12)
        assert (np.linalg.eigvalsh(jax.hessian(banana().logdensity)(jnp.asarray(mode))) < 0).all()


def test_angles_are_between_axes_and_not_arrows():
    one = np.asarray([[1.0, 0.0]] * 3)
    other = np.asarray([[-1.0, 0.0], [0.0, 1.0], [-(0.5**0.5), 0.5**0.5]])
    np.testing.assert_allclose(angles(one, other), [0.0, 90.0, 45.0])


def test_path_without_alpha_is_that_of_leapfrog():
    x, v, step = jnp.asarray([12.0, 0.0]), jnp.asarray([1.0, 1.0]), 0.03
    gradient = jax.jit(jax.grad(ring().logdensity))
    expected = [x]
    for _ in range(25):
        v = v + 0.5 * step * gradient(x)
        x = x + step * v
        v = v + 0.5 * step * gradient(x)
        expected.append(x)
    numbers = follow(12.0, 0.12, 0.0, 1, step, 25, [[12.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(numbers["path"], np.stack(expected), rtol=1e-6)  # kept in single precision
    r = np.linalg.norm(np.stack(expected), axis=1)
    assert numbers["swing"] == pytest.approx(r.max() - r.min(), rel=1e-12)


def test_finer_steps_pass_the_same_time():
    coarse, fine = (follow(12.0, 0.12, 0.3, cut, 0.03, 40, [[12.0, 0.0], [1.0, 1.0]]) for cut in (1, 10))
    np.testing.assert_allclose(coarse["path"], fine["path"], atol=3e-3)
    assert coarse["path"].shape == fine["path"].shape == (41, 2)
    assert fine["error"] < coarse["error"] / 50  # of second order


@pytest.mark.parametrize("a", squiggle.BENDS)
def test_marginal_of_the_squiggle_is_that_of_a_quadrature(a):
    target = squiggle_target(a)
    truth = target.truth.marginals["x1"]
    # The ridge is 0.03 thick: x₂ is measured from its middle. Sums of a smooth, even grid are as good as exact.
    x1, offset = np.linspace(-8 * truth.sd, 8 * truth.sd, 801), np.linspace(-0.4, 0.4, 401)
    grid1, grid2 = np.meshgrid(x1, offset, indexing="ij")
    positions = jnp.stack([grid1, grid2 - np.sin(a * grid1)], axis=-1)
    weights = np.exp(jax.vmap(jax.vmap(target.logdensity))(positions)).sum(axis=1)
    found = weights / weights.sum() / (x1[1] - x1[0])
    expected = np.exp(-0.5 * (x1 / truth.sd) ** 2) / truth.sd / (2 * np.pi) ** 0.5
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_chain_that_stands_still_has_no_effective_draws():
    settings = {"step_size": 0.07, "num_steps": 13, "alpha": 0.0, "warmup": 0, "start": [1.0, -1.0]}
    numbers = run("squiggle", 0.5, "x1", "HMC", draws=20, chains=2, seed=0, **settings)
    assert numbers["ess"] == 0
    assert numbers["rhat"] is None
    assert numbers["sd"] == 0


def test_draws_of_the_funnel_are_kept_as_they_are():
    settings = figure_4.ITEM.tasks("quick")[1].settings
    numbers = run(**{**settings, "draws": 30})
    assert settings["method"] == "HMC"
    assert numbers["points"].shape == (4 * 30, 2)
    assert numbers["draws"] == 4 * 30
    a = numbers["points"][:, 1]  # x comes first
    np.testing.assert_array_equal(a[:30], numbers["trace"])
    assert (numbers["mean"], numbers["least"]) == pytest.approx((a.mean(), a.min()), rel=1e-6)
    edges = numbers["edges"]
    fraction = ((a >= edges[0]) & (a <= edges[-1])).mean()
    assert numbers["density"] @ np.diff(edges) == pytest.approx(fraction)


def test_methods_differ_in_what_they_should():
    lmc, hmc, nuts = (task.settings for task in figure_4.ITEM.tasks("full"))
    assert [settings["method"] for settings in (lmc, hmc, nuts)] == list(METHODS)
    assert {**lmc, "method": "HMC", "alpha": 0.0} == hmc
    assert (lmc["step_size"], lmc["num_steps"], lmc["alpha"]) == (0.2, 9, 1.0)
    assert lmc["draws"] == preset("funnel-1").draws == 60_000
    assert lmc["start"] == [5.0, 5.0]
    for a, task in zip(squiggle.BENDS, squiggle.ITEM.tasks("full")[::3], strict=True):
        paper = preset(f"squiggle-{a}")
        assert (task.settings["step_size"], task.settings["num_steps"]) == (paper.step_size, paper.num_steps)


def test_verdicts_are_graded():
    assert graded([]) == "not checked"
    assert [graded(checks) for checks in ((True, True), (True, False), (False,))] == [
        "holds",
        "holds in part",
        "does not hold",
    ]


def test_verdicts_of_figure_2():
    assert figure_2.similar(5.0, 0.9) == "holds"
    assert figure_2.similar(40.0, 0.9) == figure_2.similar(5.0, 0.4) == "holds in part"
    assert figure_2.similar(40.0, 0.4) == "does not hold"
    assert figure_2.euclidean(1e-20) == "holds"
    assert figure_2.euclidean(0.1) == "does not hold"


def test_verdicts_of_figure_3():
    assert figure_3.orbits({"on": (0.7, 0.1), "off": (1.0, 0.3)}) == "holds"
    assert figure_3.orbits({"on": (0.7, 0.1), "off": (1.0, 0.9)}) == "holds in part"
    assert figure_3.orbits({"on": (0.7, 0.6)}) == "does not hold"
    assert figure_3.accurate({0.0: 0.001, 1.0: 0.01}) == "holds"
    assert figure_3.accurate({0.0: 0.001, 3.0: 14.0}) == "holds in part"


def test_verdicts_of_figure_4():
    good = {"ks": 0.02, "least": -13.0, "rhat": 1.001, "ess": 900.0, "diverging": 0.0}
    shallow, wrong = good | {"least": -6.0}, good | {"ks": 0.3}
    assert float(TRUTH.quantile(0.001)) == pytest.approx(-11.97, abs=0.01)
    assert figure_4.exploration({"LMC-Monge": good, "HMC": shallow, "NUTS": wrong}) == "holds"
    assert figure_4.exploration({"LMC-Monge": good, "HMC": shallow, "NUTS": good}) == "holds in part"
    assert figure_4.exploration({"LMC-Monge": wrong, "HMC": shallow, "NUTS": shallow}) == "does not hold"
    assert figure_4.exploration({"HMC": good}) == "not checked"
    assert figure_4.silence({"NUTS": shallow}) == "holds"
    for alarm in ({"rhat": 1.02}, {"ess": 300.0}, {"diverging": 0.1}, {"rhat": None}):
        assert figure_4.silence({"NUTS": shallow | alarm}) == "does not hold"
    assert figure_4.silence({"NUTS": good}) == "does not hold"  # it did not fail


def test_verdicts_of_the_squiggle():
    def runs(lmc, nuts):
        return {
            name: {"chain_ks": distance, "ess_per_1000_grads": size}
            for name, (distance, size) in (("LMC-Monge", lmc), ("NUTS", nuts))
        }

    won, lost, mixed = (
        runs((0.02, 2.0), (0.2, 0.1)),
        runs((0.2, 0.1), (0.02, 2.0)),
        runs((0.02, 0.1), (0.2, 2.0)),
    )
    assert [squiggle.better(pair) for pair in (won, lost, mixed, {"NUTS": {}})] == [True, False, None, None]
    assert squiggle.verdict({0.5: won, 1: won, 2: won}) == "holds"
    assert squiggle.verdict({0.5: won, 1: lost, 2: mixed}) == "holds in part"
    assert squiggle.verdict({0.5: lost, 1: mixed}) == "does not hold"
    assert squiggle.verdict({0.5: {"HMC": {}}}) == "not checked"
