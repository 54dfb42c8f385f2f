"""One call: shapes, names, reproducibility, compilation, progress."""

import collections
import dataclasses
import io
import warnings

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import mongepatch as mp
from mongepatch.sampling.diagnostics import diagnose

SETTINGS = {"metric": mp.Euclidean(), "trajectory": mp.Static(5, jitter=0.5), "step_size": 0.5, "progress": False}
STATS = {
    "lp",
    "acceptance_rate",
    "accepted",
    "step_size",
    "n_steps",
    "n_grad",
    "diverging",
    "failure",
    "energy",
    "energy_error",
    "alpha",
    "log_volume",
}


def normal(parameters):
    return sum(-0.5 * (leaf**2).sum() for leaf in jax.tree.leaves(parameters))


def test_tree_has_the_schema_of_arviz():
    tree = mp.sample(normal, {"mu": 0.0, "theta": jnp.zeros(3)}, **SETTINGS, draws=50, warmup=20, chains=3)
    assert isinstance(tree, xr.DataTree)
    assert set(tree.children) == {"posterior", "sample_stats", "state"}
    assert dict(tree["posterior"].sizes) == {"chain": 3, "draw": 50, "theta_dim_0": 3}
    assert set(tree["posterior"].data_vars) == {"mu", "theta"}
    stats = tree["sample_stats"]
    assert set(stats.data_vars) == STATS
    assert all(stats[name].dims == ("chain", "draw") for name in STATS)
    assert stats["diverging"].dtype == bool
    assert np.issubdtype(stats["n_steps"].dtype, np.integer)
    assert stats["failure"].attrs["flag_meanings"] == "none not_finite energy non_convergent non_reversible"
    assert tree["posterior"].attrs["inference_library"] == "mongepatch"
    assert tree["posterior"].attrs["sampling_time"] > 0
    lp = -0.5 * (tree["posterior"]["mu"] ** 2 + (tree["posterior"]["theta"] ** 2).sum("theta_dim_0"))
    np.testing.assert_allclose(lp, stats["lp"])


def test_dims_and_coords_are_the_users():
    tree = mp.sample(
        normal, {"theta": jnp.zeros((2, 3))}, **SETTINGS, draws=5, warmup=0, dims={"theta": ["school", "year"]},
        coords={"school": ["a", "b"]},
    )  # fmt: skip
    theta = tree["posterior"]["theta"]
    assert theta.dims == ("chain", "draw", "school", "year")
    assert theta.sel(school="b").shape == (4, 5, 3)


Point = collections.namedtuple("Point", ["north", "east"])


@pytest.mark.parametrize(
    ("init", "names"),
    [
        (jnp.zeros(3), {"x"}),
        (0.5, {"x"}),
        ({"b": 0.0, "a": {"c": jnp.zeros(2)}}, {"b", "a.c"}),
        ((0.0, jnp.zeros(2)), {"x_0", "x_1"}),
        (Point(0.0, 1.0), {"north", "east"}),
        ([0.0, {"b": [jnp.zeros(2), 1.0]}], {"x_0", "x_1.b.0", "x_1.b.1"}),
    ],
    ids=["array", "number", "nested", "tuple", "namedtuple", "list"],
)
def test_any_pytree_gets_sensible_names(init, names):
    tree = mp.sample(normal, init, **SETTINGS, draws=5, warmup=0)
    assert set(tree["posterior"].data_vars) == names


def test_a_bare_array_has_arviz_dims():
    assert mp.sample(normal, jnp.zeros(3), **SETTINGS, draws=5)["posterior"]["x"].dims == ("chain", "draw", "x_dim_0")


def run(**overrides):
    options = {**SETTINGS, "metric": mp.Monge(0.5), "step_size": 0.1, "draws": 40, "warmup": 10, "seed": 3, **overrides}
    return mp.sample(mp.targets.funnel(2), **options)["posterior"]


@pytest.mark.usefixtures("optimized")  # it is to the last digit
def test_the_seed_decides_everything():
    assert run().equals(run())
    assert run().equals(run(seed=jax.random.key(3)))
    assert run().equals(run(seed=jax.random.PRNGKey(3)))
    assert not run().equals(run(seed=4))


@pytest.mark.usefixtures("optimized")  # it is to the last digit
def test_draws_do_not_depend_on_chunks_progress_or_the_number_of_chains(monkeypatch):
    whole = run()
    assert whole.equals(run(progress=True))
    xr.testing.assert_allclose(whole.isel(chain=slice(2)).to_dataset(), run(chains=2).to_dataset())
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.0)  # every chunk has one draw
    assert whole.equals(run())


@pytest.mark.usefixtures("optimized")  # it is to the last digit
def test_warmup_is_made_and_thrown_away():
    xr.testing.assert_equal(
        run(warmup=0, draws=50)["a"].isel(draw=slice(10, None)).drop_vars("draw"), run()["a"].drop_vars("draw")
    )


def test_chains_start_dispersed_around_one_point():
    options = {**SETTINGS, "step_size": 1e-6, "draws": 1, "warmup": 0, "chains": 200}
    starts = mp.sample(normal, jnp.full(2, 7.0), **options)["posterior"]["x"].values
    assert 5.9 < starts.min() < 6.1
    assert 7.9 < starts.max() < 8.1
    together = mp.sample(normal, jnp.full(2, 7.0), **options, init_spread=0)["posterior"]["x"].values
    np.testing.assert_allclose(together, 7.0, atol=1e-4)


def test_chains_start_where_they_are_told():
    starts = np.arange(6.0).reshape(3, 2)
    options = {**SETTINGS, "step_size": 1e-6, "draws": 1, "warmup": 0, "chains": 3, "init_per_chain": True}
    for target in (normal, mp.targets.ring()):
        init = jnp.asarray(starts) + 1
        draws = mp.sample(target, init, **options)["posterior"]["x"].values[:, 0]
        np.testing.assert_allclose(draws, init, atol=1e-4)
    named = {"a": np.arange(3.0), "b": starts}
    posterior = mp.sample(normal, named, **options)["posterior"]
    np.testing.assert_allclose(posterior["b"][:, 0], starts, atol=1e-4)
    np.testing.assert_allclose(posterior["a"][:, 0], np.arange(3.0), atol=1e-4)


def test_a_known_target_takes_a_flat_vector_or_names():
    options = {**SETTINGS, "step_size": 1e-6, "draws": 1, "warmup": 0, "init_spread": 0.0}
    for init in (jnp.array([1.0, 2.0, 3.0]), {"a": 3.0, "x": jnp.array([1.0, 2.0])}):
        posterior = mp.sample(mp.targets.funnel(2), init, **options)["posterior"]
        np.testing.assert_allclose(posterior["a"], 3.0, atol=1e-4)
        np.testing.assert_allclose(posterior["x"][0, 0], [1.0, 2.0], atol=1e-4)


def test_unusable_starting_points_are_drawn_again():
    """The density is defined on a corner only; most points around the given one are outside of it."""
    options = {**SETTINGS, "step_size": 1e-6, "draws": 1, "warmup": 0, "chains": 50}
    tree = mp.sample(lambda x: jnp.where((x > 0).all(), -x.sum(), -jnp.inf), jnp.full(3, 0.1), **options)
    assert (tree["posterior"]["x"] > 0).all()
    assert len(np.unique(tree["posterior"]["x"])) == 150


def test_other_numbers_do_not_compile_again():
    traces = []

    def density(x):
        traces.append(1)
        return -0.5 * x @ x

    def go(**overrides):
        options = {**SETTINGS, "metric": mp.Monge(0.5, np.ones(2)), "draws": 30, "warmup": 10, **overrides}
        before = len(traces)
        mp.sample(density, jnp.zeros(2), **options)
        return len(traces) - before

    def compiled():
        return mp.chains.chunks.compiled_programs()

    go()
    size = compiled()
    for change in (
        {"seed": 1},
        {"step_size": 0.3},
        {"metric": mp.Monge(0.7, np.ones(2))},
        {"metric": mp.Monge(0.5, np.array([1.0, 3.0]))},
        {"trajectory": mp.Static(9, jitter=0.1)},
        {"draws": 77, "warmup": 5},
    ):
        assert go(**change) == 1  # it is looked at once, to see whether it is the same
        assert compiled() == size
    go(metric=mp.Euclidean())
    assert compiled() == size + 1


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a hundred draws of a chain are few
def test_data_that_changed_is_not_overlooked():
    """As in a notebook: the same function, with other data behind its back; then one under `jax.jit`, made anew."""
    data = {"y": 0.0, "scale": jnp.ones(2)}

    def density(x):
        return -0.5 * (((x - data["y"]) / data["scale"]) ** 2).sum()

    def mean_and_sd(density):
        options = {**SETTINGS, "step_size": 0.3, "chains": 100, "draws": 100}
        x = mp.sample(density, jnp.zeros(2), **options)["posterior"]["x"]
        return x.mean().item(), x.std().item()

    assert mean_and_sd(density) == pytest.approx((0.0, 1.0), abs=0.1)
    data["y"] = 10.0
    assert mean_and_sd(density) == pytest.approx((10.0, 1.0), abs=0.1)
    size = mp.chains.chunks.compiled_programs()
    data["scale"] = jnp.array([3.0, 3.0])
    assert mean_and_sd(density) == pytest.approx((10.0, 3.0), abs=0.3)
    assert mp.chains.chunks.compiled_programs() == size  # other data of the same shape is no other program
    for mean in (1.0, 5.0):
        center = jnp.full(2, mean)
        jitted = jax.jit(lambda x, center=center: -0.5 * ((x - center) ** 2).sum())
        assert mean_and_sd(jitted) == pytest.approx((mean, 1.0), abs=0.1)


def test_densities_of_every_make_can_be_traced():
    """Control flow, rules of one's own for derivatives, and recomputation, all differentiated twice."""

    @jax.custom_vjp
    def square(x):
        return (x**2).sum()

    square.defvjp(lambda x: ((x**2).sum(), x), lambda x, g: (2 * g * x,))

    @jax.custom_jvp
    def cube(x):
        return (x**3).sum()

    cube.defjvp(lambda primals, tangents: (cube(*primals), (3 * primals[0] ** 2 * tangents[0]).sum()))

    def density(x):
        total, _ = jax.lax.scan(lambda carry, xi: (carry - jnp.logaddexp(xi, -xi), None), 0.0, x)
        total += jax.lax.cond(x[0] > 0, lambda x: -(x[0] ** 2), lambda x: -2 * x[0] ** 2, x)
        total += jax.lax.fori_loop(0, 3, lambda i, t: t - 0.1 * x[1] ** 2, 0.0)
        return total - 0.5 * jax.checkpoint(square)(x) - 0.01 * cube(x) ** 2 - jax.jit(square)(x)

    tree = mp.sample(density, jnp.zeros(3), **{**SETTINGS, "metric": mp.Monge(0.3), "step_size": 0.1}, draws=20)
    x = tree["posterior"]["x"].values.reshape(-1, 3)
    np.testing.assert_allclose(jax.vmap(density)(x), tree["sample_stats"]["lp"].values.ravel(), rtol=1e-12)


def test_a_density_need_not_be_hashable():
    @dataclasses.dataclass
    class Density:
        center: jax.Array

        def __call__(self, x):
            return -0.5 * ((x - self.center) ** 2).sum()

    tree = mp.sample(Density(jnp.ones(2)), jnp.zeros(2), **SETTINGS, draws=5)
    assert tree["posterior"]["x"].shape == (4, 5, 2)


def test_mixed_precision_is_promoted():
    init = {"a": jnp.zeros(2, jnp.float32), "b": 0.5}
    tree = mp.sample(normal, init, **SETTINGS, draws=5)
    assert tree["posterior"]["a"].dtype == tree["posterior"]["b"].dtype


@pytest.mark.filterwarnings("ignore:The chains do not agree")  # a hundred draws of a chain are few
def test_divergences_are_told_in_a_sentence():
    with pytest.warns(mp.SamplingWarning, match=r"of 400 trajectories diverged.*smaller step_size"):
        mp.sample(lambda x: -5.0 * x @ x - 50.0 * x[0] ** 6, jnp.zeros(2), **SETTINGS, draws=100)


def test_that_nothing_moved_is_told():
    with pytest.warns(mp.SamplingWarning, match="Nothing was accepted"):
        mp.sample(lambda x: -5e5 * x @ x, jnp.zeros(2), **SETTINGS, draws=100, warmup=0, init_spread=0.0)


def test_a_support_that_was_left_is_told():
    with pytest.warns(mp.SamplingWarning, match=r"NaN or infinite: they left its support.*real line"):
        mp.sample(lambda x: jnp.where(x > 0, -x, -jnp.inf).sum(), jnp.ones(2), **SETTINGS, draws=1000, chains=20)


def test_chains_that_do_not_agree_are_told():
    """Two modes far apart, and chains that start in one each."""
    starts = jnp.array([[-10.0], [10.0]])
    options = {**SETTINGS, "chains": 2, "init_per_chain": True, "draws": 200}
    with pytest.warns(mp.SamplingWarning, match=r"chains do not agree: R̂ of 'x' is \d.*inverse_mass"):
        mp.sample(lambda x: -0.5 * (jnp.abs(x[0]) - 10.0) ** 2, starts, **options)


def test_steps_that_lead_nowhere_are_told():
    """Everything is accepted and nothing diverges, but no chain has gone anywhere."""
    with pytest.warns(mp.SamplingWarning, match="chains do not agree"):
        mp.sample(normal, jnp.zeros(2), **{**SETTINGS, "step_size": 1e-4}, draws=200)


def test_rounding_that_touches_acceptance_is_told():
    with pytest.warns(mp.SamplingWarning, match="double precision"):
        mp.sample(lambda x: -0.5 * x @ x - 1e7, jnp.zeros(2, jnp.float32), **SETTINGS, draws=10)


def test_all_is_well_is_silent(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mp.sample(normal, jnp.zeros(2), **SETTINGS, draws=500)
    assert capsys.readouterr() == ("", "")


def test_progress_shows_rate_acceptance_and_divergences(monkeypatch):
    rich_console = pytest.importorskip("rich.console")
    out = io.StringIO()
    console = rich_console.Console(file=out, force_terminal=True, width=200)
    monkeypatch.setattr("mongepatch.sampling.progress._console", lambda: console)
    with pytest.warns(mp.SamplingWarning):
        mp.sample(lambda x: -5e5 * x @ x, jnp.zeros(2), **{**SETTINGS, "progress": True}, draws=100, init_spread=0.0)
    shown = out.getvalue()
    assert "1100/1100" in shown
    assert "/s a chain" in shown
    assert "accept 0." in shown
    assert "400 divergent" in shown
    assert "4,400" not in shown  # those of warm-up do no harm
    assert shown.index("warm-up") < shown.index("compiling …") < shown.index("sampling")


def test_a_thousand_chains_in_one_call():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.SamplingWarning)  # some of 40,000 trajectories may diverge in the neck
        tree = mp.sample(
            mp.targets.funnel(10),
            metric=mp.Monge(0.1),
            trajectory=mp.Static(20, jitter=0.5),
            step_size=0.1,
            draws=30,
            warmup=10,
            chains=1000,
            progress=False,
        )
    assert tree["posterior"]["x"].shape == (1000, 30, 10)
    assert tree["posterior"]["a"].shape == (1000, 30)
    assert set(tree["posterior"].data_vars) == {"x", "a"}
    assert np.isfinite(tree["posterior"]["x"]).all()
    summary = arviz_stats.summary(tree)
    assert list(summary.index) == [*(f"x[{i}]" for i in range(10)), "a"]
    assert {"mean", "sd", "r_hat"} <= set(summary.columns)


def test_all_that_is_wrong_is_one_paragraph():
    with pytest.warns(mp.SamplingWarning) as caught:
        tree = mp.sample(
            lambda x: -jnp.log1p(x @ x), jnp.full(2, 3.0), metric=mp.Euclidean(), trajectory=mp.Static(3),
            step_size=0.3, draws=200, warmup=0, progress=False,
        )  # fmt: skip
    (warning,) = caught
    assert "The chains do not agree" in str(warning.message)
    assert "BFMI" not in str(warning.message)
    energy = np.random.default_rng(0).normal(size=(4, 200)).cumsum(axis=1)
    tree["sample_stats"] = tree["sample_stats"].to_dataset().assign(energy=(("chain", "draw"), energy))
    paragraph = diagnose(tree)
    assert "The chains do not agree" in paragraph
    assert "BFMI" in paragraph


def test_few_effective_draws_are_told_with_what_they_are_of():
    with pytest.warns(mp.SamplingWarning, match=r"only \d+ effective draws of the (bulk|tails) of 'x'"):
        mp.sample(
            lambda x: -0.5 * x @ x, jnp.zeros(1), metric=mp.Euclidean(), trajectory=mp.Static(10), step_size=0.02,
            draws=500, warmup=0, chains=1, progress=False,
        )  # fmt: skip


def test_a_parameter_may_be_called_as_a_statistic_is():
    tree = mp.sample(
        lambda p: -0.5 * ((p["alpha"] ** 2).sum() + p["energy"] ** 2), {"alpha": jnp.zeros(3), "energy": 0.0},
        dims={"alpha": ["county"]}, coords={"county": ["a", "b", "c"]},
        metric=mp.Euclidean(), trajectory=mp.Static(3), step_size=0.5, warmup=0, draws=10, progress=False,
    )  # fmt: skip
    assert tree["posterior"]["alpha"].dims == ("chain", "draw", "county")
    assert tree["sample_stats"]["alpha"].dims == ("chain", "draw")
    assert "county" not in tree["sample_stats"].coords
