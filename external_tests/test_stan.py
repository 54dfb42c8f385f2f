"""Stan models as targets: Stan's density and names beside the same models in NumPyro, and draws that are right."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("httpstan", reason='Stan models need httpstan: pip install "mongepatch[stan]"')
numpyro = pytest.importorskip("numpyro")
dist = numpyro.distributions

import mongepatch as mp  # noqa: E402
from mongepatch.bench.reference import known_from, largest_deviation  # noqa: E402
from mongepatch.frontends.stan import bridged  # noqa: E402
from mongepatch.frontends.stan.bridged import Bridged  # noqa: E402
from mongepatch.frontends.stan.build import target_of  # noqa: E402
from mongepatch.frontends.stan.compiled import Compiled  # noqa: E402
from mongepatch.frontends.stan.source import program_from  # noqa: E402

SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCHOOLS_DATA = {"J": 8, "y": Y, "sigma": SIGMA}
rng = np.random.default_rng(0)
GROUP = np.repeat(np.arange(5), 12)
MEASURED = rng.normal(rng.normal(1.0, 0.7, size=5)[GROUP], 0.5)
X = rng.normal(size=(80, 3))
LABEL = (rng.uniform(size=80) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.0]))).astype(int)

SCHOOLS = """
data { int<lower=0> J; array[J] real y; array[J] real<lower=0> sigma; }
parameters { real mu; real<lower=0> tau; vector[J] theta; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); theta ~ normal(mu, tau); y ~ normal(theta, sigma); }
"""
NONCENTERED = """
data { int<lower=0> J; array[J] real y; array[J] real<lower=0> sigma; }
parameters { real mu; real<lower=0> tau; vector[J] z; }
transformed parameters { vector[J] theta = mu + tau * z; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); z ~ normal(0, 1); y ~ normal(theta, sigma); }
generated quantities {
  array[J] real y_rep = normal_rng(theta, sigma);
  matrix[2, 3] table;
  for (i in 1:2) for (j in 1:3) table[i, j] = 10 * i + j;
}
"""
INTERCEPTS = """
data { int N; int G; array[N] int<lower=1, upper=G> group; vector[N] y; }
parameters { real mu; real<lower=0> tau; real<lower=0> sigma; vector[G] a; }
model {
  mu ~ normal(0, 2); tau ~ normal(0, 1); sigma ~ exponential(1);
  a ~ normal(mu, tau); y ~ normal(a[group], sigma);
}
"""
LOGISTIC = """
data { int N; int D; matrix[N, D] X; array[N] int<lower=0, upper=1> y; }
parameters { real alpha; vector[D] beta; }
model { alpha ~ normal(0, 3); beta ~ normal(0, 3); y ~ bernoulli_logit(alpha + X * beta); }
"""
FUNNEL = "parameters { real v; vector[1] x; }\nmodel { v ~ normal(0, 3); x ~ normal(0, exp(v / 2)); }"
DECAY = """
functions { vector rate(real t, vector y, real k) { return -k * y; } }
data { int N; array[N] real t; vector[N] y; }
parameters { real<lower=0> k; real<lower=0> sigma; }
model {
  array[N] vector[1] path = ode_rk45(rate, [1.0]', 0.0, t, k);
  k ~ lognormal(0, 1); sigma ~ exponential(1);
  for (n in 1:N) y[n] ~ normal(path[n][1], sigma);
}
"""


def schools():
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, SIGMA), obs=Y)


def noncentered():
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", 8):
        z = numpyro.sample("z", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", dist.Normal(theta, SIGMA), obs=Y)


def intercepts():
    mu = numpyro.sample("mu", dist.Normal(0, 2))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    sigma = numpyro.sample("sigma", dist.Exponential(1))
    a = numpyro.sample("a", dist.Normal(mu, tau).expand([5]).to_event(1))
    numpyro.sample("y", dist.Normal(a[GROUP], sigma).to_event(1), obs=MEASURED)


def logistic():
    alpha = numpyro.sample("alpha", dist.Normal(0, 3))
    beta = numpyro.sample("beta", dist.Normal(0, 3).expand([3]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=alpha + X @ beta).to_event(1), obs=LABEL)


PAIRS = {
    "schools": (SCHOOLS, SCHOOLS_DATA, schools),
    "noncentered": (NONCENTERED, SCHOOLS_DATA, noncentered),
    "intercepts": (INTERCEPTS, {"N": 60, "G": 5, "group": GROUP + 1, "y": MEASURED}, intercepts),
    "logistic": (LOGISTIC, {"N": 80, "D": 3, "X": X, "y": LABEL}, logistic),
}


@pytest.fixture(scope="module", params=PAIRS)
def pair(request):
    code, data, model = PAIRS[request.param]
    return SimpleNamespace(name=request.param, stan=mp.from_stan(code, data), numpyro=mp.from_numpyro(model))


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(1).normal(size=(20, 10))


def test_the_density_and_its_derivatives_are_those_of_the_same_model_in_numpyro(pair, points):
    """Up to a constant; to rounding, since both libraries derive exactly."""
    assert pair.stan.dimension == pair.numpyro.dimension
    x = jnp.asarray(points[:, : pair.stan.dimension])
    difference = jax.vmap(pair.stan)(x) - jax.vmap(pair.numpyro)(x)
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)
    gradients = [jax.jit(jax.vmap(jax.grad(target)))(x) for target in (pair.stan, pair.numpyro)]
    np.testing.assert_allclose(*gradients, rtol=1e-10, atol=1e-10)
    v = jnp.roll(x, 1, axis=0)

    def products(target):
        return jax.jit(jax.vmap(lambda x, v: jax.jvp(jax.grad(target), (x,), (v,))[1]))(x, v)

    np.testing.assert_allclose(products(pair.stan), products(pair.numpyro), rtol=1e-9, atol=1e-9)
    assert "exactly" in pair.stan.describe()


def test_differences_of_gradients_are_nearly_exact(pair, points):
    code, data, _ = PAIRS[pair.name]
    target = mp.from_stan(code, data, hessian="differences")
    assert "differences" in target.describe()
    exact, near = (jax.vmap(jax.hessian(t))(points[:, : pair.stan.dimension]) for t in (pair.stan, target))
    np.testing.assert_allclose(near, exact, rtol=1e-7, atol=1e-8 * np.abs(exact).max())


def test_the_gradient_is_that_of_finite_differences(pair, points):
    x, step = points[0, : pair.stan.dimension], 1e-5
    ahead, behind = (jax.vmap(pair.stan)(x + sign * step * np.eye(x.size)) for sign in (1, -1))
    np.testing.assert_allclose(jax.grad(pair.stan)(x), (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-6)


def scalars_of(tree, names):
    arrays = {name: np.asarray(tree["posterior"][name]) for name in names}
    return {
        f"{name}{index}": values[(..., *index)]
        for name, values in arrays.items()
        for index in np.ndindex(values.shape[2:])
    }


def test_results_have_the_same_names_and_shapes(pair):
    generated = {"y_rep": (8,), "table": (2, 3)} if pair.name == "noncentered" else {}
    assert pair.stan.variables == pair.numpyro.variables | generated


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a trajectory or two may diverge
def test_means_and_deviations_agree(pair):
    """In whatever metric and trajectory warm-up takes."""
    if pair.name == "schools":
        pytest.skip("centred, it is right only in a patch, which a Stan program does not have: see noncentered")
    ours = mp.sample(pair.stan, draws=2000, progress=False)
    theirs = mp.sample(pair.numpyro, metric="euclidean", trajectory="nuts", draws=2000, seed=1, progress=False)
    truth = known_from(scalars_of(theirs, pair.numpyro.variables))
    assert largest_deviation(scalars_of(ours, pair.numpyro.variables), truth) < 4.0
    assert set(ours["constant_data"]) == set(PAIRS[pair.name][1])


def test_generated_quantities_are_seeded_and_matrices_are_the_right_way_round():
    target, again, other = (mp.from_stan(NONCENTERED, SCHOOLS_DATA, seed=seed) for seed in (1, 1, 2))
    x = np.random.default_rng(0).normal(size=(2000, 10))
    at = [jax.vmap(t.constrain)(x) for t in (target, again, other)]
    np.testing.assert_array_equal(at[0]["table"][0], [[11, 12, 13], [21, 22, 23]])
    np.testing.assert_array_equal(at[0]["y_rep"], at[1]["y_rep"])
    np.testing.assert_array_equal(at[0]["y_rep"][7], target.constrain(x[7])["y_rep"])
    assert (np.asarray(at[0]["y_rep"]) != np.asarray(at[2]["y_rep"])).all()
    noise = (np.asarray(at[0]["y_rep"]) - at[0]["theta"]) / SIGMA
    assert abs(noise.mean()) < 4 / np.sqrt(noise.size)
    assert abs(noise.std() - 1) < 4 / np.sqrt(2 * noise.size)
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < 4 / np.sqrt(len(noise))


@pytest.mark.parametrize("kind", ["library", "callback"])
def test_chains_side_by_side_are_as_each_alone(kind, points):
    model = Compiled(program_from(SCHOOLS), SCHOOLS_DATA, 0)
    model.library = model.library if kind == "library" else ""  # then XLA calls back into Python
    target = target_of(model, SCHOOLS_DATA, 0)

    @jax.jit
    def both(x, v):
        value, gradient = jax.value_and_grad(target)(x)
        return value, gradient, jax.jvp(jax.grad(target), (x,), (v,))[1]

    x, v = points, points[::-1]
    together = jax.vmap(both)(x, v)
    for i in range(3):
        for one, all_of_them in zip(both(x[i], v[i]), together, strict=True):
            np.testing.assert_array_equal(one, all_of_them[i])
    grid = jax.vmap(jax.vmap(target))(points.reshape(4, 5, 10))
    np.testing.assert_array_equal(grid.ravel(), together[0])
    _, times = jax.linearize(jax.grad(target), x[0])
    np.testing.assert_array_equal(jax.vmap(times)(v)[0], together[2][0])


def test_single_precision_works():
    with jax.enable_x64(False):
        target = mp.from_stan(SCHOOLS, SCHOOLS_DATA)
        value, gradient = jax.value_and_grad(target)(jnp.full(10, 0.5))
        assert value.dtype == gradient.dtype == jnp.float32
    exact = jax.grad(mp.from_stan(SCHOOLS, SCHOOLS_DATA))(jnp.full(10, 0.5))
    np.testing.assert_allclose(gradient, exact, rtol=1e-6)


@pytest.mark.parametrize("trajectory", [mp.Static(20, jitter=0.5), mp.NUTS(8)], ids=["static", "nuts"])
@pytest.mark.parametrize("metric", [mp.Euclidean([9.0, 4.0]), mp.Monge(1.0)], ids=["euclidean", "monge"])
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # some trajectories diverge in the neck
def test_kernels_run_on_stan_densities(metric, trajectory):
    tree = mp.sample(
        mp.from_stan(FUNNEL), metric=metric, trajectory=trajectory, step_size=0.2, warmup=0, draws=200, progress=False
    )
    assert np.isfinite(tree["posterior"]["v"]).all()
    assert tree["sample_stats"]["acceptance_rate"].mean() > 0.5


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # some trajectories diverge in the neck
@pytest.mark.parametrize(("hessian", "step"), [("exact", None), ("differences", None), ("exact", 1.5)])
def test_exactness_does_not_depend_on_the_hessian(hessian, step):
    """Any symmetric matrix in its place leaves the density invariant: here one that is 40% off."""
    target = mp.from_stan(FUNNEL, hessian=hessian)
    gradient = jax.grad(target)

    @jax.custom_jvp
    def coarse_gradient(x):
        return gradient(x)

    @coarse_gradient.defjvp
    def _(primals, tangents):
        (x,), (v,) = primals, tangents
        H = jax.vmap(lambda e: gradient(x + step * e) - gradient(x - step * e))(jnp.eye(2)) / (2 * step)
        return coarse_gradient(x), 0.5 * (H + H.T) @ v

    @jax.custom_jvp
    def coarse(x):
        return target(x)

    coarse.defjvp(lambda primals, tangents: (target(*primals), coarse_gradient(*primals) @ tangents[0]))
    density = target if step is None else coarse
    x = jnp.array([-1.0, 0.5])
    errors = jax.hessian(density)(x) - jax.hessian(target)(x)
    assert (np.abs(errors).max() > 0.1) == (step is not None)
    settings = {"trajectory": mp.Static(20, jitter=0.5), "step_size": 0.15, "warmup": 0, "draws": 20_000, "chains": 8}
    tree = mp.sample(density, jnp.zeros(2), metric=mp.Monge(1.0), progress=False, **settings)
    v = tree["posterior"]["x"].isel(x_dim_0=0)
    assert abs(v.mean().item()) < 4 * arviz_stats.mcse(v).item()
    assert abs(v.std().item() - 3.0) < 4 * arviz_stats.mcse(v, method="sd").item()


def test_models_that_stan_derives_once_have_differences():
    """Products are then linear and symmetric to about 1e-8, which reversal and so exactness need."""
    t = np.linspace(0.2, 2.0, 6)
    y = np.exp(-0.7 * t) + 0.05 * np.random.default_rng(0).normal(size=6)
    target = mp.from_stan(DECAY, {"N": 6, "t": t, "y": y})
    assert "differences" in target.describe()

    def same(x):
        k, sigma = jnp.exp(x[0]), jnp.exp(x[1])
        likelihood = -0.5 * jnp.sum(((y - jnp.exp(-k * t)) / sigma) ** 2) - 6 * x[1]
        return likelihood - 0.5 * x[0] ** 2 - sigma + x[1]

    for x in 0.5 * np.random.default_rng(2).normal(size=(5, 2)):
        ours, exact = jax.hessian(target)(jnp.asarray(x)), jax.hessian(same)(jnp.asarray(x))
        np.testing.assert_allclose(ours, exact, rtol=2e-4, atol=1e-3)  # the solver of the equation is no better
        np.testing.assert_allclose(ours, ours.T, rtol=1e-6, atol=1e-6 * np.abs(ours).max())
    assert not jax.jvp(jax.grad(target), (jnp.zeros(2),), (jnp.zeros(2),))[1].any()


def test_programs_and_data_may_be_files(tmp_path, monkeypatch):
    (tmp_path / "schools.stan").write_text(SCHOOLS)
    included = SCHOOLS.replace("mu ~ normal(0, 5);", "#include prior.stan\n")
    (tmp_path / "included.stan").write_text(included)
    (tmp_path / "prior.stan").write_text("mu ~ normal(0, 5);\n")
    (tmp_path / "data.json").write_text(
        json.dumps({name: np.asarray(value).tolist() for name, value in SCHOOLS_DATA.items()})
    )
    x = jnp.full(10, 0.3)
    expected = mp.from_stan(SCHOOLS, SCHOOLS_DATA)(x)
    assert mp.from_stan(tmp_path / "schools.stan", tmp_path / "data.json")(x) == expected
    assert mp.from_stan(str(tmp_path / "schools.stan"), str(tmp_path / "data.json"))(x) == expected
    with monkeypatch.context() as patch:
        patch.setenv("CXX", "no-such-compiler")  # whoever got here wanted to compile
        with pytest.raises(mp.ModelError, match="no-such-compiler"):
            mp.from_stan(tmp_path / "included.stan", SCHOOLS_DATA)


def test_a_density_that_stan_rejects_is_no_error():
    target = mp.from_stan(FUNNEL)
    value, gradient = jax.value_and_grad(target)(jnp.array([np.nan, 0.0]))
    assert not np.isfinite(value)
    assert not np.isfinite(gradient).all()


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a trajectory or two may diverge
def test_the_page_on_stan_runs(capsys):
    page = (Path(__file__).parent.parent / "docs" / "stan.md").read_text(encoding="utf-8")
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, namespace)
    assert float(capsys.readouterr().out.strip("[ ").split()[0]) == pytest.approx(6.2, abs=1.0)


@pytest.mark.parametrize(
    ("program", "data", "error", "words"),
    [
        ("parameters { real x } model { x ~ normal(0, 1); }", {}, mp.ModelError, "Syntax error"),
        ("no/such/file.stan", {}, mp.ModelError, "cannot be read"),
        (3, {}, mp.ModelError, "code"),
        (SCHOOLS, {"J": 8, "sigma": SIGMA}, mp.ModelError, "The data has no 'y'"),
        (SCHOOLS, {"J": 7, "y": Y, "sigma": SIGMA}, mp.ModelError, "Stan does not take the data"),
        (SCHOOLS, {"J": 8, "y": "eight", "sigma": SIGMA}, mp.ModelError, "data"),
        (SCHOOLS, [1, 2], mp.ModelError, "dict"),
        (SCHOOLS, "no/such/file.json", mp.DataError, "JSON"),
    ],
)
def test_bad_models_and_data_are_refused_in_a_sentence(program, data, error, words):
    with pytest.raises(error, match=words):
        mp.from_stan(program, data)


def test_bridgestan_is_taken_where_httpstan_is_not(monkeypatch, tmp_path):
    """With a stand-in for BridgeStan, whose sources are not in a package registry."""
    ours = Compiled(program_from(NONCENTERED), SCHOOLS_DATA, 0)

    class StanModel:
        def __init__(self, library, data, seed, warn):
            assert (library, json.loads(data)["J"], seed) == ("made", 8, 3)
            self.param_unc_num, self.param_names = lambda: ours.dimension, lambda **_: ours.columns
            self.new_rng = np.uint32

        def log_density_gradient(self, x):
            values, gradients = ours.gradients(x[None])
            if not np.isfinite(values[0]):
                raise RuntimeError("rejected")
            return values[0], gradients[0]

        def log_density_hessian_vector_product(self, x, v):
            return 0.0, ours.products(x[None], v[None])[0]

        def param_constrain(self, x, *, include_tp, include_gq, rng):
            assert include_tp
            assert include_gq
            return ours.constrain(x[None], np.array([rng]))[0]

    def compile_model(file, stanc_args, make_args):
        assert file.read_text() == NONCENTERED
        if len(make_args) > 1:
            raise RuntimeError("it cannot be derived twice")
        return "made"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bridgestan", SimpleNamespace(StanModel=StanModel, compile_model=compile_model))
    target = target_of(Bridged(program_from(NONCENTERED), SCHOOLS_DATA, 3), SCHOOLS_DATA, 0)
    same = target_of(ours, SCHOOLS_DATA, 0)
    x = jnp.linspace(-1.0, 1.0, 10)
    for function in (jax.value_and_grad, jax.hessian):
        jax.tree.map(np.testing.assert_array_equal, jax.jit(function(target))(x), jax.jit(function(same))(x))
    jax.tree.map(np.testing.assert_array_equal, target.constrain(x), same.constrain(x))
    assert target(x.at[0].set(np.nan)) == -np.inf
    monkeypatch.setenv("BRIDGESTAN", str(tmp_path))
    (tmp_path / "Makefile").touch()
    monkeypatch.setattr(bridged, "find_spec", lambda name: True)
    monkeypatch.setitem(sys.modules, "bridgestan.download", SimpleNamespace(CURRENT_BRIDGESTAN=tmp_path / "none"))
    assert bridged.is_available()
    monkeypatch.delenv("BRIDGESTAN")
    assert not bridged.is_available()


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # few draws
def test_residuals_may_be_given_by_hand():
    def residuals(p):
        v, x = p["unconstrained"]
        return jnp.stack([v / 3, x / jnp.exp(v / 2)])

    settings = {"residuals": residuals, "metric": "patch", "draws": 200, "warmup": 300}
    tree = mp.sample(mp.from_stan(FUNNEL), **settings, progress=False)
    assert tree["posterior"].attrs["metric"] == "Patch"
    assert tree["posterior"]["v"].std() > 1.5


def test_what_cannot_be_done_is_said_in_a_sentence(monkeypatch):
    with pytest.raises(mp.MetricError, match="residual"):
        mp.sample(mp.from_stan(FUNNEL), metric="patch")
    settings = {"metric": mp.SoftAbs(1.0), "trajectory": mp.Static(2), "step_size": 0.1, "warmup": 0, "draws": 5}
    with pytest.raises(mp.LogDensityError, match="twice"):
        mp.sample(mp.from_stan(FUNNEL), **settings)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(mp.ModelError, match="C\\+\\+ compiler"):
        mp.from_stan(FUNNEL)
