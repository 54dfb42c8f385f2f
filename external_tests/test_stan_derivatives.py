"""Derivatives of Stan's densities beside those of the same models in NumPyro, and the kernels that need them."""

from types import SimpleNamespace

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from trilingual import MODELS
from trilingual import STAN_SCHOOLS as SCHOOLS

pytest.importorskip("httpstan", reason='Stan models need httpstan: pip install "mongepatch[stan]"')

import mongepatch as mp
from mongepatch.frontends.stan.build import target_of
from mongepatch.frontends.stan.httpstan_model import HTTPStanModel
from mongepatch.frontends.stan.source import program_from

SCHOOLS_DATA = MODELS["schools"].data
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


@pytest.fixture(scope="module", params=MODELS)
def pair(request):
    model = MODELS[request.param]
    return SimpleNamespace(
        model=model, stan=mp.from_stan(model.stan, model.data), numpyro=mp.from_numpyro(model.numpyro)
    )


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(1).normal(size=(20, 10))


def test_the_density_and_its_derivatives_are_those_of_the_same_model_in_numpyro(pair, points):
    """Up to a constant, and to rounding: both libraries differentiate exactly."""
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
    assert "exact Hessian-vector products" in pair.stan.describe()


def test_forward_and_reverse_mode_nest_in_any_order(pair, points):
    x, v, u = points[:3, : pair.stan.dimension]

    def forwards(f):
        return lambda x: jax.jvp(f, (x,), (v,))[1]

    def backwards(f):
        return lambda x: jax.vjp(f, x)[1](jnp.asarray(v))[0]

    def backwards_along(f):
        return lambda x: jax.vjp(f, x)[1](jnp.asarray(u))[0]

    orders = [(forwards, forwards), (forwards, backwards_along), (backwards, forwards), (backwards, backwards_along)]
    for inner, outer in orders:
        ours, exact = (jax.jit(outer(inner(jax.grad(target))))(x) for target in (pair.stan, pair.numpyro))
        np.testing.assert_allclose(ours, exact, rtol=1e-6, atol=1e-7 * np.abs(exact).max())
    fourth = jax.jvp(lambda x: jax.jacfwd(jax.hessian(pair.stan))(x), (x,), (v,))[1]
    assert np.isnan(fourth).all()


def test_differences_of_gradients_are_nearly_exact(pair, points):
    target = mp.from_stan(pair.model.stan, pair.model.data, hessian="differences")
    assert "differences" in target.describe()
    exact, near = (jax.vmap(jax.hessian(t))(points[:, : pair.stan.dimension]) for t in (pair.stan, target))
    np.testing.assert_allclose(near, exact, rtol=1e-7, atol=1e-8 * np.abs(exact).max())


def test_the_gradient_is_that_of_finite_differences(pair, points):
    x, step = points[0, : pair.stan.dimension], 1e-5
    ahead, behind = (jax.vmap(pair.stan)(x + sign * step * np.eye(x.size)) for sign in (1, -1))
    np.testing.assert_allclose(jax.grad(pair.stan)(x), (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["library", "callback"])
def test_chains_side_by_side_are_as_each_alone(kind, points):
    model = HTTPStanModel(program_from(SCHOOLS), SCHOOLS_DATA, 0)
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


def funnel(x):
    """The density of FUNNEL."""
    return -0.5 * (x[0] / 3) ** 2 - 0.5 * x[1] ** 2 * jnp.exp(-x[0]) - 0.5 * x[0]


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # few draws
@pytest.mark.parametrize(
    "metric", [mp.Euclidean([9.0, 4.0]), mp.Monge(1.0), mp.SoftAbs(1.0)], ids=["euclidean", "monge", "softabs"]
)
@pytest.mark.parametrize(
    ("kernel", "trajectory"),
    [
        ("lmc", mp.Static(10, jitter=0.5)),
        ("lmc", mp.NUTS(6)),
        ("rmhmc", mp.Static(10)),
        ("explicit-rmhmc", mp.Static(10)),
        ("mmala", None),
    ],
    ids=["static", "nuts", "rmhmc", "explicit-rmhmc", "mmala"],
)
def test_every_kernel_draws_as_from_the_same_density_in_jax(metric, kernel, trajectory):
    settings = {"metric": metric, "kernel": kernel, "trajectory": trajectory, "step_size": 0.1, "warmup": 0}
    stan, jax_ = (
        mp.sample(target, jnp.ones(2), draws=20, progress=False, **settings)["posterior"]
        for target in (mp.from_stan(FUNNEL), funnel)
    )
    np.testing.assert_allclose(stan["v"], jax_["x"].isel(x_dim_0=0), rtol=1e-6, atol=1e-6)
    assert np.unique(stan["v"]).size > 40


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


def test_models_without_second_derivatives_have_differences():
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
