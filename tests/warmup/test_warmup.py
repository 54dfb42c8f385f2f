"""Everything automatic: `mp.sample(logdensity, init)`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers import Known, flattened, largest_deviation, sample_quietly, slow_but

import mongepatch as mp
from mongepatch.chains.chunks import compiled_programs

quiet = functools.partial(sample_quietly, progress=False)

COVARIANCE = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 100.0]])
PRECISION = jnp.asarray(np.linalg.inv(COVARIANCE))
MEAN = jnp.array([1.0, -2.0, 30.0])


def normal(x):
    return -0.5 * (x - MEAN) @ PRECISION @ (x - MEAN)


@pytest.fixture(scope="module")
def automatic():
    return mp.sample(normal, jnp.zeros(3), draws=2000, save_warmup=True, progress=False)


def deviation(tree):
    truth = {f"x[{i}]": Known(float(MEAN[i]), COVARIANCE[i, i] ** 0.5) for i in range(3)}
    return largest_deviation(flattened({"x": np.asarray(tree["posterior"]["x"])}), truth)


def test_nothing_has_to_be_set(automatic):
    assert deviation(automatic) < 4.0
    assert float(automatic["sample_stats"]["acceptance_rate"].mean()) > 0.99  # steps follow a normal density exactly
    attrs = automatic["posterior"].attrs
    assert attrs["chosen"].startswith("metric Euclidean: hardly any trajectory diverged in warm-up; trajectory ")
    assert attrs["metric"] == "Euclidean"
    assert attrs["step_size"] == pytest.approx(float(automatic["sample_stats"]["step_size"][0, 0]))
    assert attrs["warmup_n_grad"] > 0


@pytest.mark.slow
def test_correlation_and_scale_cost_nothing_once_they_are_known():
    trees = [quiet(density, jnp.zeros(3), trajectory="nuts") for density in (normal, lambda x: -0.5 * x @ x)]
    grads = [float(tree["sample_stats"]["n_grad"].mean()) for tree in trees]
    assert 0.5 < grads[0] / grads[1] < 2.0


def test_warm_up_is_kept_where_it_is_asked_for(automatic):
    stats = automatic["warmup_sample_stats"].to_dataset()
    assert automatic["warmup_posterior"]["x"].shape == (4, automatic["posterior"].attrs["tuning_steps"], 3)
    assert {"step_size", "alpha", "acceptance_rate", "n_grad", "failure"} <= set(stats.data_vars)
    assert len(np.unique(stats["step_size"])) > 100  # it moves from draw to draw
    assert int(stats["n_grad"].sum()) == automatic["posterior"].attrs["warmup_n_grad"]
    assert "warmup_posterior" not in quiet(normal, jnp.zeros(3), draws=10, warmup=20).children


def test_nothing_is_compiled_between_windows():
    def logdensity(x):  # of no other test
        return -0.5 * x @ x - 0.01 * (x**4).sum()

    before = compiled_programs()
    quiet(logdensity, jnp.zeros(3), trajectory="nuts", draws=50)
    assert compiled_programs() == before + 1
    quiet(logdensity, jnp.zeros(3), draws=50, seed=1)
    assert compiled_programs() == before + 2  # one for NUTS and static trajectories
    quiet(logdensity, jnp.ones(3), draws=70, warmup=300, seed=2)
    assert compiled_programs() == before + 2
    quiet(logdensity, jnp.ones(3), trajectory="static", draws=70, seed=3)
    assert compiled_programs() == before + 3


def test_draws_depend_on_the_seed_alone(monkeypatch):
    one = quiet(normal, jnp.zeros(3), draws=20, warmup=310)
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.0)  # every chunk has one draw
    other = quiet(normal, jnp.zeros(3), draws=20, warmup=310)
    np.testing.assert_array_equal(one["posterior"]["x"], other["posterior"]["x"])
    assert (quiet(normal, jnp.zeros(3), draws=20, warmup=310, seed=1)["posterior"]["x"] != one["posterior"]["x"]).any()


@pytest.mark.parametrize("chains", slow_but([1, 4], 4))
def test_a_bad_start_is_forgotten_within_500_draws(chains):
    far = MEAN + 10 * jnp.array([1.0, -1.0, 10.0])
    tree = mp.sample(normal, far, chains=chains, warmup=500, draws=2000, progress=False)
    assert deviation(tree) < 4.0


def test_an_alpha_of_zero_costs_what_hmc_costs():
    monge = quiet(normal, jnp.zeros(3), metric="monge", trajectory="nuts", draws=200)
    euclidean = quiet(normal, jnp.zeros(3), metric="euclidean", trajectory="nuts", draws=200)
    assert monge["posterior"].attrs["metric"] == "Euclidean"
    assert "nothing is stiff" in monge["posterior"].attrs["chosen"]
    np.testing.assert_array_equal(monge["sample_stats"]["n_grad"], monge["sample_stats"]["n_steps"])
    assert float(monge["sample_stats"]["n_grad"].mean()) < 1.5 * float(euclidean["sample_stats"]["n_grad"].mean())


@pytest.fixture(scope="module")
def funnel():
    return quiet(mp.targets.funnel(1), np.full(2, 5.0), metric="monge", draws=10_000)


@pytest.mark.slow
def test_the_funnel_with_one_stiff_direction_gets_the_monge_metric():
    funnel = quiet(mp.targets.funnel(1), np.full(2, 5.0), metric="monge", draws=100)
    attrs = funnel["posterior"].attrs
    assert attrs["metric"] == "Monge"
    assert "one direction is stiff" in attrs["chosen"]
    assert 0.33 <= float(funnel["sample_stats"]["alpha"][0, 0]) <= 3.0


@pytest.mark.slow
def test_the_neck_is_entered(funnel):
    below = np.asarray(funnel["posterior"]["a"] < -1.645 * 15**0.5, float)  # one in twenty
    error = float(array_stats.mcse(below, chain_axis=0, draw_axis=1, method="mean"))
    assert abs(below.mean() - 0.05) < 4.0 * error
    assert error < 0.01  # a chain that stays out, or stays in, would make it larger


@pytest.mark.slow
def test_keeping_the_warm_up_changes_no_draw():
    runs = [
        quiet(mp.targets.funnel(1), np.full(2, 5.0), draws=20, warmup=400, save_warmup=keep) for keep in (False, True)
    ]
    np.testing.assert_array_equal(runs[0]["posterior"]["a"], runs[1]["posterior"]["a"])


@pytest.mark.slow
def test_several_stiff_directions_get_none():
    tree = quiet(mp.targets.funnel(10), np.full(11, 5.0), draws=100, warmup=500)
    assert tree["posterior"].attrs["metric"] == "Euclidean"


GIVEN = {
    "diagonal": mp.Euclidean("diagonal"),
    "dense": mp.Euclidean("dense"),
    "low-rank": mp.Euclidean("low-rank"),
    "monge, auto": mp.Monge(0.1, inverse_mass="auto"),
    "monge": mp.Monge(0.1),
    "variances": mp.Euclidean([1.0, 1.0, 100.0]),
}


@pytest.mark.parametrize("metric", slow_but(GIVEN, "diagonal"))
def test_what_is_given_is_kept_and_the_rest_is_found(metric):
    metric = GIVEN[metric]
    tree = quiet(normal, jnp.zeros(3), metric=metric, trajectory=mp.NUTS(), draws=1000, warmup=400)
    assert deviation(tree) < 4.5
    assert tree["posterior"].attrs["metric"] == type(metric).__name__
    assert np.allclose(tree["sample_stats"]["alpha"], metric.alpha)


def test_a_step_size_that_is_given_is_kept():
    tree = quiet(normal, jnp.zeros(3), step_size=0.5, draws=50, warmup=300, save_warmup=True)
    for group in ("sample_stats", "warmup_sample_stats"):
        assert (np.asarray(tree[group]["step_size"]) == 0.5).all()


@pytest.mark.parametrize("kernel", slow_but(["rmhmc", "explicit-rmhmc", "mmala"], "mmala"))
def test_other_kernels_are_automatic_too(kernel):
    tree = quiet(lambda x: -0.5 * x @ x, jnp.zeros(2), kernel=kernel, draws=500, warmup=300)
    assert abs(float(tree["posterior"]["x"].mean())) < 0.3
    assert float(tree["sample_stats"]["acceptance_rate"].mean()) > 0.6


@pytest.mark.slow
def test_single_precision():
    with jax.enable_x64(False):
        tree = quiet(lambda x: -0.5 * x @ x, jnp.zeros(40, jnp.float32), draws=100, warmup=200)
    assert tree["posterior"]["x"].dtype == np.float32
    assert 0.5 < float(tree["posterior"]["x"].std()) < 1.5


@pytest.mark.slow
def test_many_chains_take_static_trajectories():
    tree = quiet(normal, jnp.zeros(3), chains=256, draws=20, warmup=300)
    assert tree["posterior"].attrs["trajectory"] == "Static"


@pytest.mark.parametrize("warmup", slow_but([1, 5, 19, 40, 99, 299], 1, 40, 299))
def test_short_warm_ups_find_what_they_can(warmup):
    tree = quiet(normal, jnp.zeros(3), draws=5, warmup=warmup, save_warmup=True)
    assert tree["warmup_posterior"].sizes["draw"] == warmup
    assert "no metric and no trajectory is chosen" in tree["posterior"].attrs["chosen"]
    assert tree["posterior"].attrs["trajectory"] == "NUTS"


@pytest.mark.slow
def test_gradients_that_hardly_vary():
    tree = quiet(lambda x: -jnp.abs(x).sum(), jnp.full(1, 100.0), draws=2000)
    assert abs(float(tree["posterior"]["x"].mean())) < 0.3
    assert float(tree["posterior"]["x"].std()) == pytest.approx(2**0.5, rel=0.15)


@pytest.mark.slow
def test_slow_directions_that_no_metric_helps_get_long_trajectories():
    scales = jnp.geomspace(1.0, 100.0, 10)

    def wide(x):
        return -0.5 * ((x / scales) ** 2).sum()

    for trajectory in ("auto", "static"):
        tree = quiet(wide, jnp.zeros(10), metric=mp.Euclidean(), trajectory=trajectory, draws=200)
        assert float(tree["sample_stats"]["n_steps"].mean()) > 7


@pytest.mark.parametrize("metric", slow_but(["euclidean", mp.Euclidean()], "euclidean"))
def test_a_shorter_step_where_trajectories_diverge(metric):
    target = mp.targets.funnel(1)  # one trajectory in twenty diverges
    tree = quiet(target, jnp.zeros(2), metric=metric, trajectory="nuts", draws=10, save_warmup=True)
    late = np.asarray(tree["warmup_sample_stats"]["acceptance_rate"])[:, -100:]
    assert late.mean() > 0.85  # nearer to 0.9 than to 0.8


@pytest.mark.slow
def test_chains_come_in_from_very_far():
    def narrow(x):
        return -0.5 * ((x / 1e-3) ** 2).sum()

    tree = quiet(narrow, jnp.array([5.0, -20.0]), warmup=500, draws=500)
    assert float(tree["posterior"]["x"].std()) == pytest.approx(1e-3, rel=0.1)


def test_a_density_that_can_be_differentiated_once_only():
    @jax.custom_vjp
    def density(x):
        return -0.5 * jnp.exp(3 * x[0]) * x[1] ** 2 - 0.5 * x[0] ** 2 + 1.5 * x[0]

    def backward(x, cotangent):
        def gradient(x):
            steep = np.exp(3 * x[0])
            return np.array([-1.5 * steep * x[1] ** 2 - x[0] + 1.5, -steep * x[1]])

        return (
            cotangent * jax.pure_callback(gradient, jax.ShapeDtypeStruct((2,), float), x, vmap_method="sequential"),
        )

    density.defvjp(lambda x: (density(x), x), backward)
    tree = quiet(density, jnp.zeros(2), metric="monge", trajectory=mp.Static(3), draws=10, warmup=300)
    assert "the density is not twice differentiable in JAX" in tree["posterior"].attrs["chosen"]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"warmup": 0}, mp.SettingError, "leaves no draws to find step_size, metric, inverse_mass, trajectory in"),
        ({"warmup": 0, "step_size": 0.1, "metric": mp.Euclidean("auto")}, mp.SettingError, "inverse_mass, trajectory"),
        ({"target_acceptance": 1.0}, mp.SettingError, "target_acceptance must be between 0 and 1; it is 1.0"),
        ({"target_acceptance": "high"}, mp.SettingError, "must be a number"),
        ({"metric": "riemannian"}, mp.MetricError, "one of .*'monge'.*it is 'riemannian'"),
        ({"trajectory": "long"}, mp.SettingError, "one of .*'static'.*it is 'long'"),
        ({"trajectory": "nuts", "kernel": "explicit-rmhmc"}, mp.SettingError, r"needs an mp\.Static trajectory"),
    ],
)
def test_what_cannot_be_found_is_said(settings, error, message):
    with pytest.raises(error, match=message):
        mp.sample(normal, jnp.zeros(3), **settings)


@pytest.mark.parametrize("metric", [mp.Euclidean("auto"), mp.Monge("auto"), mp.Monge(1.0, "dense")])
def test_unknowns_are_refused_where_there_is_no_warm_up(metric):
    with pytest.raises(mp.MetricError, match=r"found by the warm-up of mp\.sample"):
        mp.lmc(normal, metric, 0.1, mp.NUTS()).init(jnp.zeros(3))


def test_it_says_what_it_chose(capsys):
    mp.sample(normal, jnp.zeros(3), draws=20, warmup=300)
    assert "metric Euclidean: hardly any trajectory diverged in warm-up" in " ".join(capsys.readouterr().err.split())
