"""PyMC models as targets: PyMC's density and values, NumPyro's residuals, and errors that name the variable."""

import re
from pathlib import Path

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trilingual
from trilingual import SIGMA, Y, point_of, pymc_schools

import mongepatch as mp

pm = pytest.importorskip("pymc", reason="pymc is not installed: pip install 'mongepatch[pymc]'")

Z = np.random.default_rng(0).normal(size=20)


def pymc_everything():
    """Transforms and constructions of all kinds."""
    with pm.Model(coords={"row": [1, 2], "column": list("abc")}) as model:
        low = pm.Normal("low", 0, 1)
        pm.TruncatedNormal("above", 0.0, 1.0, lower=low)
        pm.Uniform("between", low, low + 2)
        weights = pm.Dirichlet("weights", np.array([1.0, 2.0, 3.0]))
        factor, _, _ = pm.LKJCholeskyCov("factor", n=3, eta=2.0, sd_dist=pm.HalfNormal.dist(1.0))
        pm.MvNormal("vector", np.zeros(3), chol=factor)
        pm.Gamma("matrix", 2.0, 1.0, dims=("row", "column"))
        walk = pm.GaussianRandomWalk("walk", mu=0.1, sigma=0.5, init_dist=pm.Normal.dist(0, 2), steps=5)
        pm.AR("series", [0.1, 0.5], sigma=1.0, constant=True, init_dist=pm.Normal.dist(0, 1), steps=5)
        pm.ZeroSumNormal("contrast", 2.0, shape=4)
        pm.SkewNormal("skew", alpha=2, mu=0, sigma=1)
        pm.Potential("penalty", -(low**2))
        pm.Poisson("counts", pm.math.exp(walk), observed=np.arange(6))
        pm.Categorical("kind", weights, observed=np.array([0, 1, 2, 2]))
        pm.Mixture("mixed", weights, pm.Normal.dist(low * np.arange(3), 1.0), observed=Z)
        pm.Censored("censored", pm.Normal.dist(low, 1.0), lower=-1, upper=1, observed=np.clip(Z, -1, 1))
        pm.SkewNormal("skewed", alpha=2, mu=low, sigma=1, observed=Z)
    return model


MODELS = {name: model.pymc for name, model in trilingual.MODELS.items()} | {"everything": pymc_everything}


def starts(target, count):
    return jax.vmap(target.start)(jax.random.split(jax.random.key(0), count))


@pytest.mark.parametrize("name", MODELS)
def test_densities_and_values_are_pymcs(name):
    model = MODELS[name]()
    target = mp.from_pymc(model)
    theirs = model.compile_logp()
    shown = [*model.free_RVs, *model.deterministics]
    values = model.compile_fn(model.replace_rvs_by_values(shown), inputs=model.value_vars)
    points = starts(target, 20)
    mine = jax.jit(jax.vmap(lambda x: (target(x), target.constrain(x), target.residuals(x))))(points)
    for i, x in enumerate(points):
        point = point_of(model, target, x)
        assert float(mine[0][i]) == pytest.approx(float(theirs(point)), rel=1e-8, abs=1e-8)
        for variable, value in zip(shown, values(point), strict=True):
            np.testing.assert_allclose(mine[1][variable.name][i], value, rtol=1e-8, atol=1e-8)
    assert np.isfinite(mine[2]).all()


@pytest.mark.parametrize("model", trilingual.MODELS.values(), ids=trilingual.MODELS)
def test_metrics_and_names_are_those_of_the_same_model_in_numpyro(model):
    mine, other = mp.from_pymc(model.pymc()), mp.from_numpyro(model.numpyro)
    assert mine.layout.names == other.layout.names
    assert mine.variables == other.variables
    for name, dims in other.dims.items():
        assert list(mine.dims[name]) == list(dims), name
    jacobians = jax.jit(lambda x: (jax.jacfwd(mine.residuals)(x), jax.jacfwd(other.residuals)(x)))
    for x in starts(other, 3):
        J, K = jacobians(x)
        np.testing.assert_allclose(J.T @ J, K.T @ K, rtol=1e-8, atol=1e-10)
        assert J.shape == K.shape
        np.testing.assert_array_equal(J != 0, K != 0)  # the pattern that a patch makes use of


def test_names_labels_and_data_are_pymcs():
    target = mp.from_pymc(pymc_schools())
    assert target.dims["effect"] == target.dims["y"] == target.dims["sigma"] == ["school"]
    assert target.coords == {"school": list("ABCDEFGH")}
    np.testing.assert_array_equal(target.observed_data["y"], Y)
    np.testing.assert_array_equal(target.constant_data["sigma"], SIGMA)
    everything = mp.from_pymc(pymc_everything())
    assert everything.dims["matrix"] == ["row", "column"]
    assert everything.dims["weights"] == ["weights_dim_0"]


def test_a_description_has_a_line_for_every_variable():
    lines = mp.from_pymc(pymc_schools()).describe().splitlines()
    assert [line.split()[0] for line in lines] == ["mu", "tau", "theta", "y", "18", "Inner"]
    assert lines[1].split(None, 3) == ["tau", "HalfCauchy", "latent", "1 residual: √½·(log x − log scale)"]
    text = {line.split()[0]: line for line in mp.from_pymc(pymc_everything()).describe().splitlines()}
    assert "no residual" in text["penalty"]
    assert "its unconstrained value" in text["skew"]
    assert "its log density" in text["skewed"]
    assert "artanh of each partial correlation" in text["factor"]
    assert "√2·(log x" in text["factor"]
    assert "2√rate" in text["counts"]
    assert "6 residuals: (x − loc)/scale" in text["walk"]


def test_only_unknown_distributions_get_the_fallback():
    text = mp.from_pymc(pymc_everything()).describe().splitlines()
    with_fallback = {line.split()[0] for line in text if "its unconstrained value" in line or "its log density" in line}
    assert with_fallback == {
        "skew",
        "skewed",
        "mixed",
    }  # NumPyro's fallback takes a mixture's mean and standard deviation


def test_unconstrained_values_of_other_transforms_are_not_mistaken():
    """Residuals of positive variables are functions of log x, which is not the value of another transform."""
    with pm.Model() as model:
        pm.HalfNormal("s", 2.0, default_transform=pm.distributions.transforms.log_exp_m1)
    target = mp.from_pymc(model)
    x = jnp.array([0.7])
    log = float(jnp.log(target.constrain(x)["s"]))
    assert target.residuals(x) == pytest.approx([2**0.5 * (log - np.log(2.0) + (np.euler_gamma + np.log(2)) / 2)])


def test_imputed_data_are_free_variables():
    holes = Y.copy()
    holes[2:4] = np.nan
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        with pytest.warns(pm.exceptions.ImputationWarning):
            pm.Normal("y", mu, 10.0, observed=holes)
    target = mp.from_pymc(model)
    assert target.variables == {"mu": (), "y_unobserved": (2,), "y": (8,)}
    x = jnp.array([1.0, 2.0, 3.0])
    assert target.residuals(x)[1:3] == pytest.approx([0.1, 0.2])
    np.testing.assert_array_equal(target.constrain(x)["y"][2:4], [2.0, 3.0])
    assert float(target(x)) == pytest.approx(float(model.compile_logp()(point_of(model, target, x))))


def test_total_size_counts_as_the_density_does():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        pm.Normal("y", mu, 2.0, observed=Y, total_size=80)
    target = mp.from_pymc(model)
    J = jax.jacfwd(target.residuals)(jnp.array([0.5]))
    hessian = -jax.hessian(target.logdensity)(jnp.array([0.5]))
    np.testing.assert_allclose(J.T @ J, hessian)


def test_data_are_as_they_are_now():
    model = pymc_schools()
    before = mp.from_pymc(model)
    with model:
        pm.set_data({"sigma": 2 * SIGMA})
    after = mp.from_pymc(model)
    x = jnp.ones(10)
    assert float(before(x)) != float(after(x))
    np.testing.assert_array_equal(after.constant_data["sigma"], 2 * SIGMA)


def test_parameters_out_of_bounds_have_no_density():
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        pm.Gamma("y", a, 1.0, observed=2.0)
    target = mp.from_pymc(model)
    assert float(target(jnp.array([-0.5]))) == -np.inf
    assert np.isfinite(float(target(jnp.array([0.5]))))


def discrete():
    pm.Bernoulli("flag", 0.5)


def observed_alone():
    pm.Normal("y", 0, 1, observed=Y)


def minibatch():
    mu = pm.Normal("mu", 0, 1)
    pm.Normal("batch", mu, 1, observed=pm.Minibatch(Y, batch_size=2), total_size=8)


def simulated():
    mu = pm.Normal("mu", 0, 1)
    pm.Simulator("sim", lambda rng, mu, size: rng.normal(mu, 1, size), mu, observed=Y)


@pytest.mark.filterwarnings("ignore")  # PyMC's own
@pytest.mark.parametrize(
    ("define", "message"),
    [
        (discrete, r"'flag' \(Bernoulli\) is discrete.*Marginalize it"),
        (observed_alone, "no free variables"),
        (minibatch, "'batch' takes a random part of the data"),
        (simulated, "'sim' cannot be computed by JAX|random numbers"),
    ],
)
def test_errors_of_models_that_cannot_be_sampled_name_the_variable(define, message):
    with pm.Model() as model:
        define()
    with pytest.raises(mp.ModelError, match=message):
        mp.from_pymc(model)


def test_other_objects_are_no_models():
    with pytest.raises(mp.ModelError, match="this is a str"):
        mp.from_pymc("a model")
    with pytest.raises(mp.ModelError, match="with model"):
        mp.sample_pymc()
    with pytest.raises(mp.SettingError, match="tune is PyMC's name for warmup"):
        mp.sample_pymc(model=pymc_schools(), tune=10, warmup=10)


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a short run
def test_pymcs_habits_work():
    options = {"metric": mp.Euclidean(), "trajectory": mp.Static(3), "step_size": 0.1, "progress": False}
    model = pymc_schools()
    with model:
        tree = mp.sample_pymc(draws=20, tune=0, random_seed=3, **options)
    same = mp.sample(mp.from_pymc(model), draws=20, warmup=0, seed=3, **options)
    groups = tree.groups() if callable(tree.groups) else tree.children  # InferenceData up to PyMC 5
    assert set(groups) == {"posterior", "sample_stats", "observed_data", "constant_data", "state"}
    np.testing.assert_array_equal(tree["posterior"]["theta"], same["posterior"]["theta"])
    assert tree["posterior"]["effect"].sel(school="B").shape == (4, 20)
    assert tree["constant_data"]["sigma"].dims == ("school",)


@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a trajectory in ten thousand may diverge
def test_the_page_on_pymc_runs_and_centred_schools_are_sampled_right(capsys):
    page = (Path(__file__).parent.parent / "docs/pymc.md").read_text(encoding="utf-8")
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, namespace)
    assert "√½·(log x − log scale)" in capsys.readouterr().out
    tree = namespace["tree"]
    assert "whitened" in tree["posterior"].attrs["chosen"]
    log_tau = np.log(tree["posterior"]["tau"])
    for value, truth, method in ((log_tau.mean(), 0.8021, "mean"), (log_tau.std(), 1.1712, "sd")):
        assert abs(value.item() - truth) < 4 * arviz_stats.mcse(log_tau, method=method).item()


def test_the_model_of_the_bench_is_its_problem():
    from benchmarks.pymc.models import groups
    from benchmarks.pymc.run import _problem

    problem = _problem()
    mine, other = mp.from_pymc(groups(*problem.data)), mp.from_numpyro(problem.centred, *problem.data)
    order = [mine.layout.names.index(name) for name in other.layout.names]
    assert order == [0, 1, 2, 3]
    points = starts(other, 3)
    differences = [float(mine(x) - other(x)) for x in points]
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-8)


def test_settings_of_jax_are_left_alone():
    """In a process of its own, as flags are set once."""
    import subprocess
    import sys

    code = """
import os, jax, pymc as pm, mongepatch as mp
with pm.Model() as model:
    pm.Exponential("s", 1.0)
target = mp.from_pymc(model)
x = target.start(jax.random.key(0))
print(jax.config.jax_enable_x64, x.dtype, target(x).dtype, target.residuals(x).dtype, os.environ.get("XLA_FLAGS"))
"""
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "float32", "float32", "float32", "None"], done.stderr
