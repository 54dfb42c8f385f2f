"""PyMC models as targets: PyMC's density and values, NumPyro's residuals, and refusals that name the variable."""

import re
from pathlib import Path

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import mongepatch as mp

pm = pytest.importorskip("pymc", reason="pymc is not installed: pip install 'mongepatch[pymc]'")
pt = pytest.importorskip("pytensor.tensor")

SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
RNG = np.random.default_rng(0)
GROUP = np.repeat(np.arange(5), 4)
X = RNG.normal(size=(20, 3))
Z = RNG.normal(size=20)
FLAGS = (Z > 0).astype(int)


def pymc_schools():
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        sigma = pm.Data("sigma", SIGMA, dims="school")
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Deterministic("effect", theta - mu, dims="school")
        pm.Normal("y", theta, sigma, observed=Y, dims="school")
    return model


def numpyro_schools(sigma, y):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(sigma)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.deterministic("effect", theta - mu)
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def pymc_intercepts():
    with pm.Model(coords={"group": range(5), "observation": range(20)}) as model:
        mu = pm.Normal("mu", 0, 1)
        tau = pm.HalfNormal("tau", 1)
        sigma = pm.Exponential("sigma", 2.0)
        slope = pm.StudentT("slope", 4, mu=0, sigma=2.5)
        theta = pm.Normal("theta", mu, tau, dims="group")
        pm.Normal("y", theta[GROUP] + slope * X[:, 0], sigma, observed=Z, dims="observation")
    return model


def numpyro_intercepts():
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    sigma = numpyro.sample("sigma", dist.Exponential(2.0))
    slope = numpyro.sample("slope", dist.StudentT(4, 0, 2.5))
    with numpyro.plate("group", 5):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    with numpyro.plate("observation", 20):
        numpyro.sample("y", dist.Normal(theta[GROUP] + slope * X[:, 0], sigma), obs=Z)


def pymc_logistic():
    with pm.Model() as model:
        scale = pm.Gamma("scale", 2, 3)
        beta = pm.Normal("beta", 0, scale, shape=3)
        bias = pm.Uniform("bias", -2, 3)
        pm.Bernoulli("y", logit_p=X @ beta + bias, observed=FLAGS)
    return model


def numpyro_logistic():
    scale = numpyro.sample("scale", dist.Gamma(2, 3))
    beta = numpyro.sample("beta", dist.Normal(0, scale).expand([3]))
    bias = numpyro.sample("bias", dist.Uniform(-2, 3))
    numpyro.sample("y", dist.Bernoulli(logits=X @ beta + bias), obs=FLAGS)


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


MODELS = {
    "schools": pymc_schools,
    "intercepts": pymc_intercepts,
    "logistic": pymc_logistic,
    "everything": pymc_everything,
}


def point_of(model, target, x):
    raw = target.layout.named(x)
    return {model.rvs_to_values[variable].name: np.asarray(raw[variable.name]) for variable in model.free_RVs}


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


@pytest.mark.parametrize(
    ("pymc_model", "numpyro_model", "args"),
    [
        (pymc_schools, numpyro_schools, (SIGMA, Y)),
        (pymc_intercepts, numpyro_intercepts, ()),
        (pymc_logistic, numpyro_logistic, ()),
    ],
)
def test_metrics_and_names_are_those_of_the_same_model_in_numpyro(pymc_model, numpyro_model, args):
    mine, other = mp.from_pymc(pymc_model()), mp.from_numpyro(numpyro_model, *args)
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
    assert [line.split()[0] for line in lines] == ["mu", "tau", "theta", "y", "18"]
    assert lines[1].split(None, 3) == ["tau", "HalfCauchy", "latent", "1 residual: √½·(log x − log scale)"]
    text = {line.split()[0]: line for line in mp.from_pymc(pymc_everything()).describe().splitlines()}
    assert "no residual" in text["penalty"]
    assert "its unconstrained value" in text["skew"]
    assert "its log density" in text["skewed"]
    assert "artanh of each partial correlation" in text["factor"]
    assert "√2·(log x" in text["factor"]
    assert "2√rate" in text["counts"]
    assert "6 residuals: (x − loc)/scale" in text["walk"]


def test_only_what_is_unlisted_falls_back():
    text = mp.from_pymc(pymc_everything()).describe().splitlines()
    fell = {line.split()[0] for line in text if "its unconstrained value" in line or "its log density" in line}
    assert fell == {"skew", "skewed", "mixed"}  # NumPyro's fallback takes a mixture's mean and standard deviation


ONES = np.ones(3)
COVARIANCE = np.array([[1.0, 0.5], [0.5, 2.0]])
FAMILIES = {
    "Normal": lambda: pm.Normal.dist(ONES, 2.0),
    "HalfNormal": lambda: pm.HalfNormal.dist(2.0),
    "LogNormal": lambda: pm.LogNormal.dist(0.5, 2.0),
    "StudentT": lambda: pm.StudentT.dist(4.0, mu=1.0, sigma=2.0),
    "HalfStudentT": lambda: pm.HalfStudentT.dist(4.0, 2.0),
    "Cauchy": lambda: pm.Cauchy.dist(1.0, 2.0),
    "HalfCauchy": lambda: pm.HalfCauchy.dist(2.0),
    "Laplace": lambda: pm.Laplace.dist(1.0, 2.0),
    "AsymmetricLaplace": lambda: pm.AsymmetricLaplace.dist(kappa=1.5, mu=1.0, b=2.0),
    "Logistic": lambda: pm.Logistic.dist(1.0, 2.0),
    "Gumbel": lambda: pm.Gumbel.dist(1.0, 2.0),
    "VonMises": lambda: pm.VonMises.dist(1.0, 2.0),
    "Exponential": lambda: pm.Exponential.dist(2.0),
    "Gamma": lambda: pm.Gamma.dist(3.0, 2.0),
    "ChiSquared": lambda: pm.ChiSquared.dist(5.0),
    "InverseGamma": lambda: pm.InverseGamma.dist(3.0, 2.0),
    "Weibull": lambda: pm.Weibull.dist(1.5, 2.0),
    "Pareto": lambda: pm.Pareto.dist(1.5, 2.0),
    "Beta": lambda: pm.Beta.dist(2.0, 3.0),
    "Kumaraswamy": lambda: pm.Kumaraswamy.dist(2.0, 3.0),
    "Uniform": lambda: pm.Uniform.dist(-1.0, 3.0),
    "TruncatedNormal left": lambda: pm.TruncatedNormal.dist(1.0, 2.0, lower=0.0),
    "TruncatedNormal right": lambda: pm.TruncatedNormal.dist(1.0, 2.0, upper=0.0),
    "TruncatedNormal both": lambda: pm.TruncatedNormal.dist(1.0, 2.0, lower=0.0, upper=3.0),
    "Truncated Normal": lambda: pm.Truncated.dist(pm.Normal.dist(1.0, 2.0), lower=0.0),
    "Truncated Cauchy": lambda: pm.Truncated.dist(pm.Cauchy.dist(1.0, 2.0), lower=0.0),
    "Truncated StudentT": lambda: pm.Truncated.dist(pm.StudentT.dist(4.0, mu=1.0, sigma=2.0), lower=0.0, upper=4.0),
    "MvNormal": lambda: pm.MvNormal.dist(ONES[:2], COVARIANCE),
    "MvNormal by precision": lambda: pm.MvNormal.dist(ONES[:2], tau=COVARIANCE),
    "MvNormal by factor": lambda: pm.MvNormal.dist(ONES[:2], chol=np.array([[1.0, 0.0], [0.5, 2.0]])),
    "MvStudentT": lambda: pm.MvStudentT.dist(4.0, mu=ONES[:2], scale=COVARIANCE),
    "MatrixNormal": lambda: pm.MatrixNormal.dist(np.zeros((2, 2)), rowcov=np.eye(2) * 2, colcov=COVARIANCE),
    "CAR": lambda: pm.CAR.dist(np.zeros(2), np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5, 2.0),
    "Dirichlet": lambda: pm.Dirichlet.dist(np.array([1.0, 2.0, 3.0])),
    "Bernoulli": lambda: pm.Bernoulli.dist(0.3),
    "Bernoulli by log-odds": lambda: pm.Bernoulli.dist(logit_p=ONES),
    "Binomial": lambda: pm.Binomial.dist(7, 0.3),
    "Binomial by log-odds": lambda: pm.Binomial.dist(7, logit_p=0.3),
    "BetaBinomial": lambda: pm.BetaBinomial.dist(alpha=2.0, beta=3.0, n=7),
    "Poisson": lambda: pm.Poisson.dist(3.0),
    "NegativeBinomial": lambda: pm.NegativeBinomial.dist(mu=3.0, alpha=2.0),
    "Geometric": lambda: pm.Geometric.dist(0.3),
    "Categorical": lambda: pm.Categorical.dist(np.array([0.2, 0.3, 0.5])),
    "Categorical by log-weights": lambda: pm.Categorical.dist(logit_p=np.array([0.2, 0.3, 0.5])),
    "Multinomial": lambda: pm.Multinomial.dist(6, np.array([0.2, 0.3, 0.5])),
    "DirichletMultinomial": lambda: pm.DirichletMultinomial.dist(6, np.array([0.2, 0.3, 0.5])),
    "ZeroInflatedPoisson": lambda: pm.ZeroInflatedPoisson.dist(0.7, 3.0),
    "ZeroInflatedNegativeBinomial": lambda: pm.ZeroInflatedNegativeBinomial.dist(0.7, mu=3.0, alpha=2.0),
    "Mixture of one": lambda: pm.Mixture.dist(ONES / 3, pm.Normal.dist(np.arange(3.0), 1.0)),
    "Mixture of several": lambda: pm.Mixture.dist(
        ONES[:2] / 2, [pm.Normal.dist(0, 1), pm.StudentT.dist(4, mu=1, sigma=2)]
    ),
    "GaussianRandomWalk": lambda: pm.GaussianRandomWalk.dist(
        mu=0.1, sigma=0.5, init_dist=pm.Normal.dist(0, 2), steps=5
    ),
    "Walks": lambda: pm.GaussianRandomWalk.dist(
        mu=0.1, sigma=np.array([0.5, 1.0]), init_dist=pm.Normal.dist(0, 2), steps=5, shape=(2, 6)
    ),
    "MvGaussianRandomWalk": lambda: pm.MvGaussianRandomWalk.dist(
        mu=np.zeros(2), cov=np.eye(2), init_dist=pm.MvNormal.dist(np.zeros(2), np.eye(2)), steps=3
    ),
    "AR": lambda: pm.AR.dist(
        np.array([0.1, 0.5, 0.2]), sigma=2.0, constant=True, init_dist=pm.Normal.dist(0, 1, shape=2), steps=4
    ),
}


LEFT_OUT = {"CAR": -np.log(2 * np.pi)}
"""Constants that PyMC leaves out of a density."""


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTensor to PyMC
@pytest.mark.parametrize("name", FAMILIES)
def test_laws_are_pymcs(name):
    """The distribution of NumPyro's that a variable's residuals are made by has its density.

    Nearly: PyTensor takes logarithms of constants in single precision.
    """
    from mongepatch.frontends.pymc.laws import find

    variable = FAMILIES[name]()
    values = pm.draw(variable, 5, random_seed=1)
    law = find(variable)
    arrays = [jnp.asarray(graph.eval(), float) for graph in law.parameters]
    value = variable.type()
    theirs = pm.compile([value], pm.logp(variable, value).sum())
    for x in values:
        sites = law.sites(arrays, jnp.asarray(x), None)
        mine = sum(jnp.sum(site.fn.log_prob(site.value)) for site in sites)
        assert float(mine) == pytest.approx(float(theirs(x)) + LEFT_OUT.get(name, 0.0), rel=1e-6, abs=1e-6)


def test_partial_correlations_are_numpyros_coordinates():
    from mongepatch.frontends.pymc.laws.vectors import partial_correlations

    factor = dist.LKJCholesky(4, 1.0).sample(jax.random.key(0), (3,))
    raw = dist.transforms.CorrCholeskyTransform().inv(factor)
    np.testing.assert_allclose(partial_correlations(factor * jnp.array([1.0, 2.0, 0.5, 3.0])[:, None]), raw, rtol=1e-8)


def test_unconstrained_values_of_other_transforms_are_not_mistaken():
    """Residuals of positive variables are made of log x, which a transform of one's own does not give."""
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
        (discrete, r"'flag' \(Bernoulli\) is discrete.*Sum it out"),
        (observed_alone, "no free variables"),
        (minibatch, "'batch' takes a random part of the data"),
        (simulated, "'sim' cannot be computed by JAX|random numbers"),
    ],
)
def test_models_that_cannot_be_sampled_are_refused_with_the_variables_name(define, message):
    with pm.Model() as model:
        define()
    with pytest.raises(mp.ModelError, match=message):
        mp.from_pymc(model)


def test_what_is_no_model_is_refused():
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
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data", "constant_data"}
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
    assert tree["posterior"].attrs["metric"] == "Patch"
    log_tau = np.log(tree["posterior"]["tau"])
    for value, truth, method in ((log_tau.mean(), 0.8021, "mean"), (log_tau.std(), 1.1712, "sd")):
        assert abs(value.item() - truth) < 4 * arviz_stats.mcse(log_tau, method=method).item()


def test_every_law_is_on_the_page():
    from mongepatch.frontends.pymc.laws import READERS

    page = (Path(__file__).parent.parent / "docs/pymc.md").read_text(encoding="utf-8")
    names = {name for name in dir(pm) if getattr(getattr(pm, name), "rv_type", None) in READERS}
    assert {name for name in names if name not in page} <= {"Lognormal"}  # an alias


def test_the_model_of_the_bench_is_its_problem():
    from mongepatch.bench.pymc.run import _problem, centred

    problem = _problem()
    mine, other = mp.from_pymc(centred(*problem.data)), mp.from_numpyro(problem.centred, *problem.data)
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
