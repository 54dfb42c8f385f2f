"""Residuals of every family: smooth to the far tails, as large as the information, and sparse where they should be."""

import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers import slow_but
from numpyro import handlers
from numpyro.distributions import biject_to

import mongepatch as mp
from mongepatch.frontends.residuals import registry
from mongepatch.frontends.residuals.normal import solve
from mongepatch.numpyro import register_residual

CORRELATION = jnp.array([[1.0, 0.5], [0.5, 2.0]])
LINE = {
    "normal": dist.Normal(1.0, 2.0),
    "log normal": dist.LogNormal(1.0, 2.0),
    "half normal": dist.HalfNormal(3.0),
    "half cauchy": dist.HalfCauchy(3.0),
    "cauchy": dist.Cauchy(1.0, 2.0),
    "student": dist.StudentT(3.0, 1.0, 2.0),
    "logistic": dist.Logistic(1.0, 2.0),
    "soft laplace": dist.SoftLaplace(1.0, 2.0),
    "gumbel": dist.Gumbel(1.0, 2.0),
    "gamma": dist.Gamma(3.0, 2.0),
    "chi-squared": dist.Chi2(5.0),
    "inverse gamma": dist.InverseGamma(3.0, 2.0),
    "exponential": dist.Exponential(3.0),
    "weibull": dist.Weibull(2.0, 1.5),
    "levy": dist.Levy(1.0, 2.0),
    "uniform": dist.Uniform(-1.0, 4.0),
    "beta": dist.Beta(2.0, 5.0),
    "scaled": dist.TransformedDistribution(dist.Normal(0.0, 1.0), dist.transforms.AffineTransform(3.0, 2.0)),
    "logit normal": dist.TransformedDistribution(dist.Normal(0.5, 1.0), dist.transforms.SigmoidTransform()),
}
"""Of these JᵀJ is, on average, the information of the density in unconstrained coordinates."""
NEARLY = {
    "laplace": dist.Laplace(1.0, 2.0),
    "truncated far below": dist.TruncatedNormal(5.0, 1.0, low=0.0),
    "truncated at the mean": dist.TruncatedNormal(0.0, 2.0, low=0.0),
    "truncated to a tail": dist.TruncatedNormal(-4.0, 1.0, low=0.0),
    "truncated above": dist.TruncatedNormal(0.0, 1.0, high=1.0),
    "truncated twice": dist.TruncatedNormal(0.0, 1.0, low=-1.0, high=3.0),
    "truncated cauchy": dist.TruncatedCauchy(0.0, 1.0, low=0.0),
    "folded": dist.FoldedDistribution(dist.Normal(1.0, 1.0)),
    "log uniform": dist.LogUniform(1.0, 5.0),
    "pareto": dist.Pareto(1.0, 2.0),
    "dagum": dist.Dagum(1.0, 2.0, 3.0),
    "gompertz": dist.Gompertz(1.0, 1.0),
    "kumaraswamy": dist.Kumaraswamy(2.0, 3.0),
    "asymmetric laplace": dist.AsymmetricLaplace(0.0, 1.0, 1.0),
}
"""Of these it is of that order."""
VECTORS = {
    "multivariate normal": dist.MultivariateNormal(jnp.ones(2), CORRELATION),
    "by its precision": dist.MultivariateNormal(jnp.ones(2), precision_matrix=CORRELATION),
    "low rank": dist.LowRankMultivariateNormal(jnp.zeros(3), jnp.ones((3, 1)), jnp.ones(3)),
    "multivariate student": dist.MultivariateStudentT(4.0, jnp.zeros(2), jnp.linalg.cholesky(CORRELATION)),
    "matrix normal": dist.MatrixNormal(jnp.zeros((2, 2)), jnp.linalg.cholesky(CORRELATION), jnp.eye(2)),
    "autoregression on a graph": dist.CAR(0.0, 0.5, 2.0, jnp.array([[0.0, 1.0], [1.0, 0.0]])),
    "dirichlet": dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])),
    "lkj": dist.LKJ(3, 1.5),
    "lkj cholesky": dist.LKJCholesky(4, 1.0),
    "random walk": dist.GaussianRandomWalk(2.0, 5),
    "euler-maruyama": dist.EulerMaruyama(jnp.arange(4.0), lambda x, t: (-x, 0.5 + x**2), dist.Normal(0.0, 1.0)),
    "zero-sum": dist.ZeroSumNormal(2.0, (4,)),
    "wishart": dist.Wishart(4.0, CORRELATION),
    "event": dist.Normal(0.0, jnp.ones(3)).to_event(1),
    "copies": dist.Gamma(2.0, jnp.ones(3)).expand([2, 3]),
    "von mises": dist.VonMises(0.0, 3.0),
    "ordered": dist.TransformedDistribution(
        dist.Normal(0.0, 1.0).expand([3]).to_event(1), dist.transforms.OrderedTransform()
    ),
}


def target_of(fn):
    return mp.from_numpyro(lambda: numpyro.sample("x", fn))


def with_jacobians(target, points):
    values, jacobians = jax.jit(jax.vmap(lambda x: (target.residuals(x), jax.jacfwd(target.residuals)(x))))(points)
    return np.asarray(values), np.asarray(jacobians)


def far(dimension):
    rng = np.random.default_rng(0)
    corners = rng.choice([-40.0, 0.0, 40.0], (30, dimension))
    return jnp.concatenate([corners, rng.uniform(-40, 40, (30, dimension))])


@pytest.mark.slow
@pytest.mark.parametrize("name", VECTORS)
def test_residuals_of_vectors_are_finite_to_the_far_tails(name):
    target = target_of(VECTORS[name])
    starts = jax.vmap(target.start)(jax.random.split(jax.random.key(0), 5))
    values, jacobians = with_jacobians(target, jnp.concatenate([starts, far(target.dimension)]))
    assert np.isfinite(values).all()
    assert np.isfinite(jacobians).all()
    assert np.linalg.matrix_rank(jacobians[:5]).min() == target.dimension  # every direction has a scale


@functools.cache
def curve(name):
    """Unconstrained coordinates of one variable, and there its residuals, slopes, density and curvature."""
    target = target_of({**LINE, **NEARLY}[name])
    x = jnp.linspace(-60, 60, 6_001)[:, None]
    values, slopes = with_jacobians(target, x)
    density = np.exp(jax.jit(jax.vmap(target.logdensity))(x))
    hessian = -np.asarray(jax.jit(jax.vmap(jax.hessian(target.logdensity)))(x))[:, 0, 0]
    return np.asarray(x)[:, 0], values, slopes[..., 0], density, hessian


@pytest.mark.parametrize("name", [*LINE, *NEARLY])
def test_residuals_of_the_line_are_finite_monotone_and_of_order_one(name):
    x, values, slopes, _, _ = curve(name)
    assert np.isfinite(values).all()
    assert np.isfinite(slopes).all()
    near = np.abs(x) < 8
    assert (np.sign(slopes[near]) == np.sign(slopes[near][0])).all()
    steepness = np.linalg.norm(slopes[near], axis=1)
    assert steepness.max() < 6
    assert steepness.min() > 0.01 * steepness.max()
    assert np.ptp(values[near], axis=0).max() > 2


def expectations(name):
    """Means over the prior, by quadrature in unconstrained coordinates: 1, r, r², JᵀJ, minus the Hessian."""
    x, values, slopes, density, hessian = curve(name)
    r = values[:, 0]
    columns = np.stack([np.ones_like(r), r, r**2, (slopes**2).sum(1), hessian])
    return np.trapezoid(np.nan_to_num(columns) * density, x)


@pytest.mark.parametrize("name", LINE)
def test_residuals_have_the_information_of_the_density(name):
    whole, mean, square, mine, information = expectations(name)
    assert whole == pytest.approx(1, abs=0.03)  # the tails of a Cauchy are longer than the grid
    assert mine == pytest.approx(information, rel=2e-2)
    assert abs(mean) < 0.6
    assert 0.9 < square - mean**2 < 2.6  # 2.47 for the half normal and the Cauchy, 1 for the normal


@pytest.mark.parametrize("name", [name for name in NEARLY if "laplace" not in name])  # a Laplace's is in its kink
def test_residuals_have_nearly_the_information_of_the_density(name):
    whole, _, _, mine, information = expectations(name)
    assert whole == pytest.approx(1, abs=2e-2)
    assert 0.3 < mine / information < 3.0


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in VECTORS if name not in ("wishart", "ordered", "copies")])
def test_residuals_of_vectors_are_about_standard_normal(name):
    fn = VECTORS[name]
    draws = jax.jit(lambda key: fn.sample(key, (4000,)))(jax.random.key(0))
    raw = jax.jit(jax.vmap(lambda x: biject_to(fn.support).inv(x).ravel()))(draws)
    r = np.asarray(jax.jit(jax.vmap(target_of(fn).residuals))(raw))
    assert np.abs(r.mean(0)).max() < 0.6
    assert r.std(0).min() > 0.6
    assert r.std(0).max() < 1.4
    if "normal" in name or name in ("by its precision", "low rank", "random walk", "euler-maruyama", "event"):
        np.testing.assert_allclose(np.cov(r.T), np.eye(r.shape[1]), atol=0.1)


COUNTS = {
    "bernoulli": lambda eta: dist.Bernoulli(logits=eta),
    "bernoulli by probability": lambda eta: dist.Bernoulli(jax.nn.sigmoid(eta)),
    "binomial": lambda eta: dist.Binomial(7, logits=eta),
    "poisson": lambda eta: dist.Poisson(jnp.exp(eta)),
    "negative binomial": lambda eta: dist.NegativeBinomial2(jnp.exp(eta), 200.0),
    "geometric": lambda eta: dist.Geometric(logits=eta),
    "categorical": lambda eta: dist.Categorical(logits=jnp.stack([eta, -eta, 0.3 * eta])),
    "categorical by probability": lambda eta: dist.Categorical(jax.nn.softmax(jnp.stack([eta, -eta, 0.3 * eta]))),
    "ordered logistic": lambda eta: dist.OrderedLogistic(eta, jnp.array([-1.0, 0.5])),
}


def improper(name="eta"):
    return numpyro.sample(name, dist.ImproperUniform(dist.constraints.real, (), ()))


@pytest.mark.parametrize("name", slow_but(COUNTS, *list(COUNTS)[:4]))
def test_residuals_of_counts_have_the_fisher_information(name):
    family = COUNTS[name]
    target = mp.from_numpyro(lambda: numpyro.sample("y", family(improper()), obs=1))
    top = {"poisson": 120, "negative binomial": 120, "geometric": 400, "binomial": 8}.get(name, 2)
    y = jnp.arange(3 if "categorical" in name or "ordered" in name else top)
    slope = jax.jit(jax.jacfwd(target.residuals))

    @jax.jit
    def fisher(eta):
        score = jax.jacfwd(lambda eta: family(eta).log_prob(y))(eta)
        return (jnp.exp(family(eta).log_prob(y)) * score**2).sum()

    for eta in (-1.5, 0.8, 2.0):
        information = float(fisher(eta))
        jacobian = slope(jnp.array([eta]))
        assert float((jacobian**2).sum()) == pytest.approx(information, rel=6e-3)
    assert all(np.isfinite(value).all() for value in with_jacobians(target, far(1)))


SCALES = {
    "normal": (dist.Normal, 1e-6),
    "cauchy": (dist.Cauchy, 1e-2),
    "logistic": (dist.Logistic, 1e-4),
    "student": (lambda loc, scale: dist.StudentT(5.0, loc, scale), 0.05),
    "laplace": (dist.Laplace, 0.3),
    "soft laplace": (dist.SoftLaplace, 1e-6),
    "gumbel": (dist.Gumbel, 0.1),
}


@pytest.mark.parametrize("name", SCALES)
def test_data_have_the_information_of_a_location_and_a_scale(name):
    """On average over the data, by quadrature."""
    family, tolerance = SCALES[name]

    def model(y):
        numpyro.sample("y", family(improper("loc"), jnp.exp(improper("log_scale"))), obs=y)

    y = jnp.sinh(jnp.linspace(-11, 11, 8001))
    weight = np.gradient(np.asarray(y)) * np.exp(family(0.0, 1.0).log_prob(y))
    target = mp.from_numpyro(model, y)
    n = len(y)
    jacobian = np.asarray(jax.jit(jax.jacfwd(target.residuals))(jnp.zeros(2)))
    each = jacobian[:n, :, None] * jacobian[:n, None, :]
    shared = (jacobian[n:].T @ jacobian[n:]) / n
    mine = (each * weight[:, None, None]).sum(0) + shared
    score = jax.jit(jax.jacfwd(lambda p: family(p[0], jnp.exp(p[1])).log_prob(y)))(jnp.zeros(2))
    score = np.nan_to_num(score) * (weight > 0)[:, None]
    information = np.einsum("n,ni,nj->ij", weight, score, score)
    assert mine[1, 1] == pytest.approx(information[1, 1], rel=tolerance)
    if name != "laplace":
        assert mine[0, 0] == pytest.approx(information[0, 0], rel=tolerance)


def test_a_covariance_has_its_information_too():
    def model(y):
        tril = jnp.array([[jnp.exp(improper("a")), 0.0], [improper("b"), jnp.exp(improper("c"))]])
        numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(2), scale_tril=tril), obs=y)

    x = jnp.array([0.3, -0.4, 0.2])
    tril = jnp.array([[jnp.exp(0.3), 0.0], [-0.4, jnp.exp(0.2)]])
    y = dist.MultivariateNormal(jnp.zeros(2), scale_tril=tril).sample(jax.random.key(0), (20_000,))
    target = mp.from_numpyro(model, y)
    jacobian = jax.jit(jax.jacfwd(target.residuals))(x)
    information = -jax.jit(jax.hessian(target.logdensity))(x)
    np.testing.assert_allclose(jacobian.T @ jacobian / len(y), information / len(y), atol=0.1)


Y = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])


def schools(y=Y):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, 10.0), obs=y)


def jacobian_at_start(model, *args):
    target = mp.from_numpyro(model, *args)
    return np.asarray(jax.jit(jax.jacfwd(target.residuals))(target.start(jax.random.key(1)))), target


def test_eight_schools_have_the_pattern_of_an_arrow():
    jacobian, target = jacobian_at_start(schools)
    groups = np.eye(8, dtype=bool)
    shared, none = np.ones((8, 2), bool), np.zeros((8, 2), bool)
    pattern = np.block([[np.eye(2, dtype=bool), none.T], [shared, groups], [none, groups]])
    assert ((jacobian != 0) == pattern).all()
    assert target.residuals(jnp.zeros(10)).shape == (18,)


def test_equal_copies_are_one_residual():
    def model(y):
        sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
        rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
        numpyro.sample("y", dist.Normal(0.0, sigma), obs=y)
        with numpyro.plate("n", 50):
            numpyro.sample("k", dist.Poisson(rate), obs=jnp.ones(50))

    jacobian, target = jacobian_at_start(model, jnp.zeros(100))
    assert jacobian.shape == (2 + 100 + 1 + 1, 2)
    assert jacobian[-2] == pytest.approx([10.0, 0.0])  # √100·log σ
    rate = target.constrain(target.start(jax.random.key(1)))["rate"]
    assert jacobian[-1] @ jacobian[-1] == pytest.approx(50 * rate)


def regression(x, y, fn, handler=None):
    b = numpyro.sample("b", dist.Normal(0, 1).expand([2]).to_event(1))
    with handler or contextlib.nullcontext():
        numpyro.sample("y", fn(x @ b), obs=y)


def test_masks_scales_and_events_count_as_the_density_does():
    """JᵀJ of normal data is minus the Hessian, so that one can be held against the other."""
    x, y = jnp.asarray(np.random.default_rng(0).normal(size=(6, 2))), jnp.arange(6.0)
    mask = jnp.array([True, False, True, True, False, True])
    holes = jnp.where(mask, y, jnp.nan)
    scaled = handlers.scale(regression, scale=3.0)
    cases = {
        "plain": (regression, y, lambda mu: dist.Normal(mu, 2.0)),
        "mask": (regression, holes, lambda mu: dist.Normal(mu, 2.0).mask(mask)),
        "mask in an event": (regression, holes, lambda mu: dist.Normal(mu, 2.0).mask(mask).to_event(1)),
        "no mask at all": (regression, y, lambda mu: dist.Normal(mu, 2.0).mask(True)),
        "all masked": (regression, y, lambda mu: dist.Normal(mu, 2.0).mask(False)),
        "handler": (
            functools.partial(regression, handler=handlers.mask(mask=mask)),
            holes,
            lambda mu: dist.Normal(mu, 2.0),
        ),
        "scale": (scaled, y, lambda mu: dist.Normal(mu, 2.0)),
        "scale and mask": (scaled, holes, lambda mu: dist.Normal(mu, 2.0).mask(mask).to_event(1)),
        "event": (scaled, y, lambda mu: dist.Normal(mu, 2.0).to_event(1)),
        "multivariate": (scaled, y, lambda mu: dist.MultivariateNormal(mu, 4.0 * jnp.eye(6))),
        "shifted": (
            scaled,
            y,
            lambda mu: dist.TransformedDistribution(dist.Normal(mu, 2.0), dist.transforms.AffineTransform(1.0, 3.0)),
        ),
    }
    for name, (model, data, fn) in cases.items():
        target = mp.from_numpyro(model, x, data, fn)
        point = target.start(jax.random.key(0))
        jacobian = jax.jit(jax.jacfwd(target.residuals))(point)
        hessian = -jax.jit(jax.hessian(target.logdensity))(point)
        np.testing.assert_allclose(jacobian.T @ jacobian, hessian, rtol=1e-9, err_msg=name)


def test_a_scan_has_residuals_of_its_increments():
    from numpyro.contrib.control_flow import scan

    def model(y):
        phi = numpyro.sample("phi", dist.Uniform(-1.0, 1.0))

        def step(before, y):
            x = numpyro.sample("x", dist.Normal(phi * before, 0.5))
            numpyro.sample("y", dist.Normal(x, 1.0), obs=y)
            return x, x

        scan(step, 0.0, y)

    jacobian, target = jacobian_at_start(model, jnp.arange(5.0))
    x = target.start(jax.random.key(1))
    phi = target.constrain(x)["phi"]
    assert jacobian.any(1).sum() == 11  # log scales of data are constants here, which a scan hides
    np.testing.assert_allclose(jacobian[1:6, 1:], 2 * np.eye(5) - 2 * phi * np.eye(5, k=-1), atol=1e-12)


def test_a_step_of_a_scan_knows_its_neighbour_alone():
    from numpyro.contrib.control_flow import scan

    def model(y):
        scale, slope_scale = numpyro.sample("scales", dist.HalfNormal(1.0).expand([2]))

        def step(before, y):
            level, slope = before
            slope = numpyro.sample("slope", dist.Normal(slope, slope_scale))
            level = numpyro.sample("level", dist.Normal(level + slope, scale))
            numpyro.sample("y", dist.Normal(level, 0.5), obs=y)
            return (level, slope), None

        scan(step, (0.0, 0.0), y)

    jacobian, target = jacobian_at_start(model, jnp.arange(50.0))
    plan = mp.Patch(target.residuals, 1.0).residuals.plan(target.dimension)
    np.testing.assert_array_equal(plan.pattern.dense(), jacobian != 0)
    assert plan.colouring.products <= 6
    assert plan.sparse is not None


def test_users_may_register_a_family(monkeypatch):
    monkeypatch.setattr(registry, "_FAMILIES", dict(registry._FAMILIES))  # for this test alone

    class Mine(dist.Normal):
        pass

    class Other(Mine):
        pass

    @register_residual(Mine, formula="7·x")
    def mine(site):
        return 7 * site.value

    for fn in (Mine(0.0, 1.0), Other(0.0, 1.0)):
        target = target_of(fn)
        assert target.residuals(jnp.ones(1)) == pytest.approx([7.0])
        assert "7·x" in target.describe()


def test_every_distribution_has_some_residual():
    """Distributions that are not in the table get the fallback, and never fail: mixtures, copulas and so on."""
    mixture = dist.MixtureSameFamily(dist.Categorical(jnp.ones(2) / 2), dist.Normal(jnp.array([-1.0, 1.0]), 1.0))

    def model():
        x = numpyro.sample("x", mixture)
        s = numpyro.sample("s", dist.LeftTruncatedGamma(dist.Gamma(2.0, 1.0), 0.5))
        numpyro.sample("copula", dist.GaussianCopula(dist.Gamma(2.0, 1.0), correlation_matrix=jnp.eye(2)))
        components = dist.Normal(x + jnp.array([-1.0, 1.0]), jnp.abs(s))
        numpyro.sample("y", dist.MixtureSameFamily(dist.Categorical(jnp.ones(2) / 2), components), obs=jnp.ones(3))
        numpyro.sample("zip", dist.ZeroInflatedPoisson(jax.nn.sigmoid(x), jnp.exp(x)), obs=jnp.arange(3))
        numpyro.sample("bb", dist.BetaBinomial(jnp.exp(x), 2.0, 5), obs=jnp.arange(3))
        numpyro.sample("multi", dist.Multinomial(6, logits=x * jnp.arange(3.0)), obs=jnp.array([1, 2, 3]))
        numpyro.sample("many", dist.Multinomial(6, jax.nn.softmax(x * jnp.arange(3.0))), obs=jnp.array([1, 2, 3]))
        numpyro.sample("dm", dist.DirichletMultinomial(jnp.exp(x) * jnp.ones(3), 6), obs=jnp.array([1, 2, 3]))
        numpyro.sample(
            "cens", dist.RightCensoredDistribution(dist.Exponential(jnp.exp(x)), jnp.array([0, 1])), obs=jnp.ones(2)
        )
        numpyro.sample("w", dist.Weibull(jnp.exp(x), 2.0), obs=jnp.ones(3))
        numpyro.sample("u", dist.Uniform(-jnp.exp(x) - 9, 9.0), obs=jnp.ones(3))
        numpyro.sample("d", dist.Dirichlet(jnp.exp(x) * jnp.ones(3)), obs=jnp.ones(3) / 3)
        numpyro.sample("b", dist.Beta(jnp.exp(x), 2.0), obs=0.5)
        numpyro.sample("g", dist.Gamma(jnp.exp(x), 2.0), obs=0.5)
        numpyro.sample("walk", dist.GaussianRandomWalk(jnp.exp(x), 3), obs=jnp.ones(3))
        numpyro.sample("t", dist.MultivariateStudentT(4.0, x * jnp.ones(2), jnp.eye(2)), obs=jnp.ones(2))
        numpyro.sample("vm", dist.VonMises(x, 2.0), obs=0.5)
        numpyro.sample("tn", dist.TruncatedNormal(x, 2.0, low=0.0), obs=0.5)
        numpyro.sample("ttn", dist.TruncatedNormal(x, 2.0, low=0.0, high=2.0), obs=0.5)

    jacobian, target = jacobian_at_start(model)
    assert np.isfinite(jacobian).all()
    sites = [line.split()[0] for line in target.describe().splitlines() if ": " in line]
    assert {"x", "y", "copula", "dm", "cens", "walk", "ttn", "u"} <= set(sites)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_small_triangular_systems_are_solved_without_lapack(size, batch):
    keys = jax.random.split(jax.random.key(0), 2)
    factor = jnp.tril(jax.random.normal(keys[0], (*batch, size, size))) + 3.0 * jnp.eye(size)
    vector = jax.random.normal(keys[1], (6, *batch, size))
    expected = np.linalg.solve(np.broadcast_to(factor, (6, *factor.shape)), vector[..., None])[..., 0]
    np.testing.assert_allclose(solve(factor, vector), expected, rtol=1e-12)
    calls = "triangular_solve" in str(jax.make_jaxpr(solve)(factor, vector))
    assert calls == (size > 4)
