"""NumPyro models as targets: NumPyro's density, values and names, and errors that name the site."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import sample_quietly, slow_but
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from numpyro.infer.reparam import LocScaleReparam, TransformReparam
from numpyro.infer.util import constrain_fn, potential_energy

import mongepatch as mp
from mongepatch.sampling.variables import variables

SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])


def schools(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(sigma)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def noncentered(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(sigma)):
        z = numpyro.sample("z", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def everything(y):
    """Supports of all kinds, one of which depends on another site, and everything that changes a density."""
    low = numpyro.sample("low", dist.Normal(0, 1))
    numpyro.sample("above", dist.TruncatedNormal(0.0, 1.0, low=low))
    numpyro.sample("between", dist.Uniform(low, low + 2))
    numpyro.sample("simplex", dist.Dirichlet(jnp.ones(3)))
    numpyro.sample("factor_of", dist.LKJCholesky(3, 1.0))
    with numpyro.plate("row", 2, dim=-2), numpyro.plate("column", 3, dim=-1):
        numpyro.sample("matrix", dist.Gamma(2.0, 1.0))
        with handlers.mask(mask=jnp.array([True, False, True])), handlers.scale(scale=0.5):
            numpyro.sample("some", dist.Exponential(1.0))
    center = numpyro.deterministic("center", low + numpyro.param("shift", 1.5))
    numpyro.factor("penalty", -(center**2))
    numpyro.sample("fixed", dist.Delta(center))
    numpyro.sample("y", dist.StudentT(4.0, center, 1.0).expand([4]).to_event(1), obs=y)


def series(y):
    phi = numpyro.sample("phi", dist.Uniform(-1, 1))
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))

    def step(before, y):
        x = numpyro.sample("x", dist.Normal(phi * before, scale))
        s = numpyro.sample("s", dist.LogNormal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(x, s), obs=y)
        return x, x

    scan(step, 0.0, y)


def transformed(y):
    affine = dist.transforms.AffineTransform(1.0, 2.0)
    x = numpyro.sample("x", dist.TransformedDistribution(dist.Normal(0, 1), affine))
    numpyro.sample("y", dist.Normal(x, 1), obs=y)


MODELS = {
    "schools": (schools, (SIGMA, Y)),
    "noncentered": (noncentered, (SIGMA, Y)),
    "everything": (everything, (Y[:4],)),
    "series": (series, (Y,)),
    "reparametrized": (
        handlers.reparam(schools, config={"theta": LocScaleReparam(0), "mu": LocScaleReparam()}),
        (SIGMA, Y),
    ),
    "transformed": (handlers.reparam(transformed, config={"x": TransformReparam()}), (Y,)),
}


@pytest.mark.parametrize("name", slow_but(MODELS, *list(MODELS)[:3]))
def test_densities_and_values_are_numpyros(name):
    model, args = MODELS[name]
    target = mp.from_numpyro(model, *args)
    for x in jax.vmap(target.start)(jax.random.split(jax.random.key(0), 2)):
        raw = target.layout.named(x)
        mine = jax.jit(target.logdensity)(x)
        theirs = jax.jit(lambda raw: -potential_energy(model, args, {}, raw))(raw)
        assert float(mine) == pytest.approx(float(theirs), abs=1e-12, rel=1e-12)
        values = jax.jit(target.constrain)(x)
        theirs = jax.jit(lambda raw: constrain_fn(model, args, {}, raw, return_deterministic=True))(raw)
        assert set(values) - {"fixed"} == set(theirs)
        for site, value in theirs.items():
            np.testing.assert_allclose(values[site], value, rtol=1e-12)
    assert np.isfinite(jax.jit(target.residuals)(x)).all()
    assert np.abs(target.start(jax.random.key(0))).max() <= 2


def test_plates_are_dims_and_other_axes_have_arviz_names():
    dims = mp.from_numpyro(everything, Y[:4]).dims
    assert dims["matrix"] == dims["some"] == ["row", "column"]
    assert dims["simplex"] == ["simplex_dim_0"]
    assert dims["factor_of"] == ["factor_of_dim_0", "factor_of_dim_1"]
    assert dims["low"] == dims["center"] == []
    assert mp.from_numpyro(noncentered, SIGMA, Y).dims["theta"] == ["school"]

    def model(y):
        with numpyro.plate("draw", 3):
            numpyro.sample("b", dist.Normal(0, 1).expand([2]).to_event(1), infer={"event_dims": ["side"]})
            numpyro.sample("y", dist.Normal(0, 1), obs=y)

    target = mp.from_numpyro(model, Y[:3])
    assert target.dims == {"b": ["draw_plate", "side"], "y": ["draw_plate"]}


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a short run
def test_a_run_has_the_models_variables():
    target = mp.from_numpyro(noncentered, SIGMA, y=Y)
    options = {"metric": mp.Euclidean("auto"), "trajectory": mp.Static(5, jitter=0.5), "draws": 60, "warmup": 60}
    tree = mp.sample(target, **options, progress=False, save_warmup=True, coords={"school": list("ABCDEFGH")})
    assert set(tree.children) == {
        "posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats", "observed_data", "constant_data",
        "tuning", "state",
    }  # fmt: skip
    posterior = tree["posterior"]
    assert set(posterior.data_vars) == {"mu", "tau", "z", "theta"}
    assert posterior["theta"].dims == ("chain", "draw", "school")
    assert posterior["theta"].sel(school="B").shape == (4, 60)
    assert (posterior["tau"] > 0).all()
    np.testing.assert_allclose(posterior["theta"], posterior["mu"] + posterior["tau"] * posterior["z"])
    np.testing.assert_allclose(tree["observed_data"]["y"].sel(school="C"), -3.0)
    np.testing.assert_allclose(tree["constant_data"]["sigma"], SIGMA)
    assert "step_size" not in tree["observed_data"].attrs


def test_variables_are_computed_in_chunks(monkeypatch):
    target = mp.from_numpyro(noncentered, SIGMA, y=Y)
    positions = np.random.default_rng(0).normal(size=(3, 20, 10))
    whole = variables(positions, target)
    monkeypatch.setattr("mongepatch.sampling.variables._BYTES", 18 * 8 * 7)  # seven draws at a time, the last not full
    for name, values in variables(positions, target).items():
        assert values.shape[:2] == (3, 20)
        np.testing.assert_array_equal(values, whole[name])
    np.testing.assert_allclose(whole["theta"][2, 7], target.constrain(jnp.asarray(positions[2, 7]))["theta"])


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a short run
def test_other_data_does_not_compile_again():
    options = {"metric": mp.Euclidean(), "trajectory": mp.Static(3), "step_size": 0.1, "draws": 5, "warmup": 0}

    def go(y):
        tree = mp.sample(mp.from_numpyro(noncentered, SIGMA, y), **options, progress=False)
        return mp.chains.chunks.compiled_programs(), tree["sample_stats"]["lp"].values

    size, first = go(Y)
    again, second = go(Y + 10)
    assert again == size
    assert not np.allclose(first, second)


def test_diagnostics_skip_constants_and_flags():
    def model():
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.deterministic("constant", jnp.ones(2))
        numpyro.deterministic("flag", x > 0)

    options = {"metric": mp.Euclidean(), "trajectory": mp.Static(5, jitter=0.5), "step_size": 0.5}
    tree = mp.sample(mp.from_numpyro(model), **options, draws=400, progress=False)
    assert tree["posterior"]["flag"].dtype == bool


def test_a_description_has_a_line_for_every_site():
    lines = mp.from_numpyro(schools, SIGMA, Y).describe().splitlines()
    assert [line.split()[0] for line in lines] == ["mu", "tau", "theta", "y", "18", "Inner"]
    assert lines[1].split(None, 3) == ["tau", "HalfCauchy", "latent", "1 residual: √½·(log x − log scale)"]
    assert "observed, shape (8,)" in lines[3]
    assert lines[-1].endswith("mu and theta given tau.")
    text = mp.from_numpyro(everything, Y[:4]).describe()
    assert "penalty" in text
    assert "no residual" in text
    lognormal = mp.from_numpyro(lambda: numpyro.sample("s", dist.LogNormal(0.0, 1.0))).describe()
    assert "of its base distribution Normal" in lognormal
    assert mp.targets.funnel(3).describe() == "x, shape (3,)\na, shape ()"


def discrete():
    numpyro.sample("group", dist.Bernoulli(0.5))


def repeated_counts():
    numpyro.sample("count", dist.Poisson(3.0).expand([2]))


def misshapen():
    mu = numpyro.sample("mu", dist.Normal(0, 1).expand([3]))
    numpyro.sample("y", dist.Normal(mu, 1), obs=jnp.ones(5))


def paired():
    """Data with an axis too many: broadcasting pairs every value with every mean."""
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(slope * jnp.arange(5.0), 1), obs=jnp.ones((5, 1)))


def negative_count():
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
    numpyro.sample("y", dist.Poisson(rate), obs=jnp.array([3, -1, 2]))


def failing():
    numpyro.sample("first", dist.Normal(0, 1))
    raise RuntimeError("out of luck")


def subsampled():
    with numpyro.plate("rows", 10, subsample_size=5):
        numpyro.sample("x", dist.Normal(0, 1))


def on_a_sphere():
    numpyro.sample("direction", dist.ProjectedNormal(jnp.ones(3)))


def missing():
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(mu, 1), obs=jnp.array([1.0, jnp.nan]))


class NoDensity(dist.Normal):
    def log_prob(self, value):
        raise NotImplementedError("nobody knows")


@pytest.mark.parametrize(
    ("model", "args", "message"),
    [
        (discrete, (), r"'group' \(BernoulliProbs\) is discrete.*Marginalize it"),
        (discrete, (), r'pip install "mongepatch\[enumerate\]"'),
        (repeated_counts, (), r"'count' \(Poisson\) is discrete.*infinitely many values"),
        (
            misshapen,
            (),
            r"'y' \(Normal\) has no log density.*values have the shape \(5,\), its distribution has \(3,\)",
        ),
        (paired, (), r"'y' \(Normal\) pairs every value with every parameter.*\(5, 1\).*\(5,\).*shape \(5, 5\)"),
        (negative_count, (), r"'y' \(Poisson\): 1 of its 3 observed.*y\[1\] = -1, outside of.*\(integers, lower 0\)"),
        (failing, (), "at or after the site 'first': RuntimeError: out of luck"),
        (subsampled, (), "plate 'rows' takes a random subsample of 5 out of 10"),
        (on_a_sphere, (), r"at or after the site 'direction'.*ProjectedNormalReparam"),
        (missing, (), "'y' .*NaN.*mask"),
        (lambda: numpyro.sample("x", NoDensity(0.0, 1.0)), (), r"'x' \(NoDensity\) has no log density.*nobody knows"),
        (lambda: numpyro.sample("y", dist.Normal(0, 1), obs=1.0), (), "no latent sites"),
        (lambda: None, (), "no latent sites"),
        (schools, (), "cannot be called with these arguments: missing.*'sigma'"),
        (schools, (SIGMA, Y, 3), "too many positional"),
        ("a model", (), "this is a str"),
    ],
)
def test_errors_of_models_that_cannot_be_sampled_name_the_site(model, args, message, monkeypatch):
    monkeypatch.setattr("mongepatch.frontends.numpyro.enumeration.has_funsor", lambda: False)
    with pytest.raises(mp.ModelError, match=message):
        mp.from_numpyro(model, *args)


def branching():
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(mu, 1.0 if mu > 0 else 2.0), obs=1.0)


def in_numpy():
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(np.exp(mu), 1), obs=1.0)


@pytest.mark.parametrize("model", [branching, in_numpy])
def test_models_that_jax_cannot_trace_are_told_how_to_be_written(model):
    with pytest.raises(mp.ModelError, match=r"at or after the site 'mu'.*jnp\.where or jax\.lax\.cond") as caught:
        mp.from_numpyro(model)
    assert isinstance(caught.value.__cause__, jax.errors.JAXTypeError)


def without_a_plate():
    kind = numpyro.sample("kind", dist.Bernoulli(0.3))
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(mu + kind, 1), obs=jnp.ones(2))


def with_a_plate():
    with numpyro.plate("rows", 2):
        without_a_plate()


def test_discrete_sites_need_plates_around_data(monkeypatch):
    """Without one, the two values of the site would be paired with the two values of data."""

    def refusing(*_):
        raise ValueError("a reason of NumPyro's")

    monkeypatch.setattr("mongepatch.frontends.numpyro.enumeration.has_funsor", lambda: True)
    monkeypatch.setattr("mongepatch.frontends.numpyro.model.summed_out", lambda *_: refusing)
    with pytest.raises(mp.ModelError, match=r"\['kind'\] cannot.*: \['y'\] have axes that belong to no plate"):
        mp.from_numpyro(without_a_plate)
    with pytest.raises(mp.ModelError, match=r"\['kind'\] cannot be summed out: ValueError: a reason of NumPyro's"):
        mp.from_numpyro(with_a_plate)


def test_a_model_that_fails_in_the_density_is_not_taken_for_a_density():
    """NumPyro's own reason is told, where its functions ran the model."""

    def logdensity(values):
        return numpyro.infer.util.log_density(two_of_a_name, (), {}, values)[0]

    def two_of_a_name():
        for _ in range(2):
            numpyro.sample("mu", dist.Normal(0, 1))

    with pytest.raises(mp.LogDensityError, match=r"failed at the starting point's shapes: .*mu"):
        mp.sample(logdensity, {"mu": 0.0})


def above_its_bound():
    """A support that an argument decides, which may be a parameter, so that only starting points tell."""
    chance = numpyro.sample("chance", dist.Uniform(0.0, 1.0))
    numpyro.sample("y", dist.Binomial(2, chance), obs=jnp.array([1, 5]))


def no_number():
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(jnp.sqrt(-1.0 - mu**2), 1), obs=1.0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (above_its_bound, r"-inf at every starting point.*'y' \(BinomialProbs\): .*y\[1\] = 5, outside of the support"),
        (no_number, r"nan at every starting point.*'y' \(Normal\) has the parameter loc, which is nan"),
    ],
)
def test_a_density_that_is_not_finite_is_explained_by_its_sites(model, message):
    with numpyro.validation_enabled(is_validate=False), pytest.raises(mp.LogDensityError, match=message):
        mp.sample(mp.from_numpyro(model), metric="euclidean", progress=False)


def test_a_model_that_fails_at_most_points_is_tried_at_others():
    def picky():
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(jnp.where(x > 1.0, x, jnp.nan), 1), obs=1.5)

    target = mp.from_numpyro(picky)
    tree = sample_quietly(target, metric=mp.Euclidean(), trajectory=mp.Static(2), step_size=0.1, draws=5, warmup=0)
    assert (tree["posterior"]["x"] > 1.0).all()


def test_a_model_is_traced_without_compiling_its_operations(compiled_programs):
    X = np.linspace(-1.0, 1.0, 30).reshape(10, 3)

    def model(X, y):
        scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
        beta = numpyro.sample("beta", dist.Normal(jnp.zeros(3), 2.0).to_event(1))
        numpyro.sample("y", dist.Normal(jnp.tanh(X @ beta), jnp.exp(scale) + 1.0), obs=jnp.square(y))

    target = mp.from_numpyro(model, X, X[:, 0])
    np.testing.assert_allclose(target.observed_data["y"], X[:, 0] ** 2)  # data that the model computes
    assert not [name for name in compiled_programs if "tanh" in name or "exp" in name], compiled_programs


def test_parameters_that_a_model_initializes_are_computed():
    def model(y):
        weights = numpyro.param("weights", lambda key: {"a": 2.0 + jax.random.uniform(key, (2,)), "b": jnp.zeros(1)})
        x = numpyro.sample("x", dist.Normal(weights["a"], 1.0).to_event(1))
        numpyro.sample("y", dist.Normal(x, 1.0).to_event(1), obs=y)

    target = mp.from_numpyro(model, np.zeros(2))
    gradient = jax.grad(target.logdensity)(jnp.zeros(2))  # the mean of x, and y at 0
    assert ((gradient > 2.0) & (gradient < 3.0)).all()
