"""Warm-up and the patch of a model's residuals: when it is taken, with which constants, and that it is right."""

import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers import sample_quietly
from scipy.stats import kstest, norm

import mongepatch as mp
from mongepatch._auto import ToBeFound
from mongepatch.metrics.inverse_mass import Diagonal
from mongepatch.warmup import choose_metric
from mongepatch.warmup.inverse_mass import variances

pytestmark = pytest.mark.usefixtures("optimized")  # these draw for longer than they compile

quiet = functools.partial(sample_quietly, progress=False)
GROUPS = 9


def neck(x):
    """Neal's funnel: v ~ N(0, 3²), nine x ~ N(0, eᵛ)."""
    return -0.5 * (x["v"] / 3) ** 2 - 0.5 * jnp.exp(-x["v"]) * (x["x"] ** 2).sum() - 0.5 * GROUPS * x["v"]


def neck_residuals(x):
    return {"prior": x["v"] / 3, "x": x["x"] * jnp.exp(-0.5 * x["v"])}


INIT = {"v": jnp.zeros(()), "x": jnp.zeros(GROUPS)}


@pytest.fixture(scope="module")
def funnel():
    return quiet(neck, INIT, residuals=neck_residuals, whiten=False, draws=4000, seed=1)


def test_a_funnel_gets_the_patch_by_itself(funnel):
    attrs = funnel["posterior"].attrs
    assert attrs["metric"] == "Patch"
    assert attrs["chosen"].startswith("metric Patch: ")
    assert float(funnel["sample_stats"]["alpha"][0, 0]) >= 4.0
    assert attrs["trajectory"] == "Static"


def test_every_quantile_of_the_neck_is_right(funnel):
    v = np.asarray(funnel["posterior"]["v"])
    for probability in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99):
        below = (v < norm(0, 3).ppf(probability)).astype(float)
        error = float(array_stats.mcse(below, chain_axis=0, draw_axis=1, method="mean"))
        assert abs(below.mean() - probability) < 4.0 * error, probability
        assert error < 0.03  # a chain that stays out of the neck, or in it, would make it larger
    assert v.min() < norm(0, 3).ppf(0.002)
    assert kstest(v.ravel()[::20] / 3, "norm").pvalue > 1e-4


@pytest.mark.slow
def test_the_constant_metric_is_wrong_there():
    tree = quiet(neck, INIT, metric="euclidean", trajectory="nuts", draws=1000, seed=1)
    v = np.asarray(tree["posterior"]["v"])
    assert (v < norm(0, 3).ppf(0.05)).mean() < 0.03


@pytest.mark.slow
def test_what_suits_a_constant_metric_keeps_it():
    design = jnp.asarray(np.random.default_rng(0).normal(size=(50, 4)))

    def residuals(beta):
        return jnp.concatenate([design @ beta - 1.0, beta])

    tree = quiet(lambda beta: -0.5 * (residuals(beta) ** 2).sum(), jnp.zeros(4), residuals=residuals, draws=100)
    assert tree["posterior"].attrs["metric"] == "Euclidean"


@pytest.mark.slow
def test_a_direction_without_residuals_is_left_to_the_base():
    def logdensity(x):
        return neck({"v": x[0], "x": x[1 : 1 + GROUPS]}) - 0.5 * (x[-2:] ** 2).sum() / 100.0

    def residuals(x):  # the last two parameters have none
        return jax.tree.leaves(neck_residuals({"v": x[0], "x": x[1 : 1 + GROUPS]}))

    tree = quiet(logdensity, jnp.zeros(GROUPS + 3), residuals=residuals, metric="patch", draws=2000)
    assert float(tree["sample_stats"]["alpha"][0, 0]) < 16.0
    free = np.asarray(tree["posterior"]["x"])[..., -2:]
    for values in (free[..., 0], free[..., 1]):
        squares = values**2
        error = float(array_stats.mcse(squares, chain_axis=0, draw_axis=1, method="mean"))
        assert abs(squares.mean() - 100.0) < 4.0 * error
        assert error < 10.0


@pytest.mark.parametrize(
    ("metric", "trajectory"),
    [
        pytest.param("patch", "nuts", marks=pytest.mark.slow),
        pytest.param(mp.Patch(lambda x: x * jnp.array([1.0, 0.5]), "auto"), "static", marks=pytest.mark.slow),
        pytest.param(mp.Patch(lambda x: x * jnp.array([1.0, 0.5]), 1.0, "dense"), mp.NUTS(), marks=pytest.mark.slow),
        (mp.Patch(lambda x: x * jnp.array([1.0, 0.5]), 2.0, [1.0, 4.0]), mp.Static(4)),
    ],
)
def test_what_is_given_is_kept(metric, trajectory):
    residuals = (lambda x: x * jnp.array([1.0, 0.5])) if metric == "patch" else None
    tree = quiet(
        lambda x: -0.5 * (x**2).sum(), jnp.zeros(2), residuals=residuals, metric=metric, trajectory=trajectory,
        warmup=300, draws=1000,
    )  # fmt: skip
    assert tree["posterior"].attrs["metric"] == "Patch"
    if not isinstance(metric, str) and not isinstance(metric.alpha, ToBeFound):
        assert (tree["sample_stats"]["alpha"] == metric.alpha).all()
    squares = np.asarray(tree["posterior"]["x"]) ** 2
    for values in (squares[..., 0], squares[..., 1]):
        assert abs(values.mean() - 1.0) < 4.0 * float(
            array_stats.mcse(values, chain_axis=0, draw_axis=1, method="mean")
        )


def test_a_patch_without_residuals_is_refused():
    with pytest.raises(mp.MetricError, match=r"needs a residual map: give residuals=f"):
        mp.sample(lambda x: -jnp.cosh(x).sum(), jnp.zeros(2), metric="patch")


@pytest.mark.parametrize(
    ("residuals", "message"),
    [
        (lambda x: x["a"], "residuals failed"),
        (lambda x: jnp.ones(3), "residuals depend on no parameter"),
        (lambda x: jax.lax.while_loop(lambda y: y.sum() < 9, lambda y: y + 1, x), "not differentiable in JAX"),
        (lambda x: jnp.log(x - 100.0), "residuals are not finite at the starting points.*number 0 of 2"),
    ],
)
def test_residuals_that_cannot_serve_are_refused_before_anything_is_drawn(residuals, message):
    with pytest.raises(mp.MetricError, match=message):
        mp.sample(lambda x: -x @ x, jnp.zeros(2), residuals=residuals)


@pytest.mark.slow
def test_a_step_size_that_is_given_leaves_alpha_alone():
    tree = quiet(neck, INIT, residuals=neck_residuals, metric="patch", step_size=0.2, warmup=300, draws=10)
    assert float(tree["sample_stats"]["alpha"][0, 0]) == 1.0
    assert "α = 1, since the step size is given" in tree["posterior"].attrs["chosen"]


def test_widths_come_from_draws_and_stay_where_there_are_none():
    before = Diagonal(jnp.array([1.0, 1.0]))
    rows = np.random.default_rng(0).normal(size=(10_000, 2)) * [3.0, 0.1]
    np.testing.assert_allclose(variances(rows, before).variance, [9.0, 0.01], rtol=0.1)
    assert variances(rows[:1], before) is before
    assert variances(np.full((10, 2), np.nan), before) is before
    assert (np.asarray(variances(np.ones((10, 2)), before).variance) > 0).all()


@pytest.mark.slow
def test_chains_that_have_only_been_at_the_door_of_a_neck_get_the_patch_too():
    numpyro = pytest.importorskip("numpyro")
    dist = numpyro.distributions
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(100), 10)
    y = rng.normal(rng.normal(0.5, 0.1, size=100)[group], 1.0)

    def model():
        mu, tau = numpyro.sample("mu", dist.Normal(0, 1)), numpyro.sample("tau", dist.HalfNormal(1))
        sigma = numpyro.sample("sigma", dist.HalfNormal(1))
        with numpyro.plate("group", 100):
            theta = numpyro.sample("theta", dist.Normal(mu, tau))
        with numpyro.plate("observation", len(y)):
            numpyro.sample("y", dist.Normal(theta[group], sigma), obs=y)

    tree = quiet(mp.from_numpyro(model), whiten=False, draws=100, seed=0)
    assert tree["posterior"].attrs["metric"] == "Patch"


def test_curvature_that_merely_varies_gets_shorter_steps_and_no_patch():
    """One x ~ N(0, eᵛ) and v ~ N(0, 1): NUTS with short steps is right there, and a patch would cost compilation."""

    def residuals(x):
        return jnp.stack([x[0], x[1] * jnp.exp(-0.5 * x[0])])

    def density(x):
        return -0.5 * (residuals(x) ** 2).sum() - 0.5 * x[0]

    tree = quiet(density, jnp.zeros(2), residuals=residuals, whiten=False, draws=1000)
    attrs = tree["posterior"].attrs
    assert attrs["metric"] == "Euclidean"
    assert "hardly any trajectory diverged in warm-up with shorter steps; trajectory NUTS" in attrs["chosen"]
    assert float(tree["sample_stats"]["acceptance_rate"].mean()) > 0.85  # nearer to 0.9 than to 0.8
    squares = np.asarray(tree["posterior"]["x"][..., 0]) ** 2
    error = float(array_stats.mcse(squares, chain_axis=0, draw_axis=1, method="mean"))
    assert abs(squares.mean() - 1.0) < 4.0 * error


def trial(diverging=0.0, bfmi=1.0):
    return SimpleNamespace(diverging_fraction=diverging, diverges=diverging > 0.002, bfmi=bfmi)


@pytest.mark.parametrize(
    ("seen", "unstable", "needed"),
    [
        (trial(), 0.0, False),
        (trial(diverging=0.005), 0.0, False),  # a few, with short steps
        (trial(diverging=0.02), 0.0, True),
        (trial(), 0.02, True),
        (trial(bfmi=0.1), 0.0, True),  # chains that never entered a neck look fine otherwise
    ],
)
def test_a_patch_is_tried_on_evidence(seen, unstable, needed, monkeypatch):
    monkeypatch.setattr(choose_metric, "recent_unstable_fraction", lambda _: unstable)
    assert choose_metric._needs_patch(None, seen) is needed
