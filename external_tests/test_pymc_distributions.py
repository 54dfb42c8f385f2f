"""PyMC's distributions as the same distributions of NumPyro."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from trilingual import point_of

import mongepatch as mp

dist = numpyro.distributions
pm = pytest.importorskip("pymc", reason="pymc is not installed: pip install 'mongepatch[pymc]'")

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
"""Constants that PyMC leaves out of a log density."""


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTensor to PyMC
@pytest.mark.parametrize("name", FAMILIES)
def test_densities_are_pymcs(name):
    """The NumPyro distribution that gives a variable's residuals has the variable's density.

    The tolerance is for PyTensor, which takes logarithms of constants in single precision.
    """
    from mongepatch.frontends.pymc.distributions import convert

    variable = FAMILIES[name]()
    values = pm.draw(variable, 5, random_seed=1)
    distribution = convert(variable)
    arrays = [jnp.asarray(graph.eval(), float) for graph in distribution.parameters]
    value = variable.type()
    theirs = pm.compile([value], pm.logp(variable, value).sum())
    for x in values:
        sites = distribution.sites(arrays, jnp.asarray(x), None)
        mine = sum(jnp.sum(site.fn.log_prob(site.value)) for site in sites)
        assert float(mine) == pytest.approx(float(theirs(x)) + LEFT_OUT.get(name, 0.0), rel=1e-6, abs=1e-6)


UNKNOWN = {
    "ExGaussian": lambda mu, **of: pm.ExGaussian("z", mu=mu, sigma=1.0, nu=1.0, **of),
    "SkewNormal": lambda mu, **of: pm.SkewNormal("z", alpha=2.0, mu=mu, sigma=1.0, **of),
    "Wald": lambda mu, **of: pm.Wald("z", mu=pm.math.exp(mu), lam=2.0, **of),
    "Moyal": lambda mu, **of: pm.Moyal("z", mu=mu, sigma=1.0, **of),
    "Rice": lambda mu, **of: pm.Rice("z", nu=pm.math.exp(mu), sigma=2.0, **of),
    "Triangular": lambda mu, **of: pm.Triangular("z", lower=0.0, c=0.3, upper=1.0 + pm.math.exp(mu), **of),
    "LogitNormal": lambda mu, **of: pm.LogitNormal("z", mu=mu, sigma=1.0, **of),
    "CustomDist": lambda mu, **of: pm.CustomDist("z", mu, logp=lambda value, mu: -((value - mu) ** 2), **of),
}


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("given", [{}, {"observed": 0.4}], ids=["free", "data"])
def test_unknown_distributions_get_the_fallback(name, given):
    """The page says that a missing residual is never an error."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        UNKNOWN[name](mu, **given)
        pm.Normal("y", mu, 1, observed=0.3)
    target = mp.from_pymc(model)
    assert ("its log density" if given else "its unconstrained value") in target.describe()
    theirs = model.compile_logp()
    for key in jax.random.split(jax.random.key(0), 3):
        x = target.start(key)
        assert np.isfinite(target.residuals(x)).all()
        assert float(target(x)) == pytest.approx(float(theirs(point_of(model, target, x))), rel=1e-8)


def test_partial_correlations_are_numpyros_coordinates():
    from mongepatch.frontends.pymc.distributions.vectors import partial_correlations

    factor = dist.LKJCholesky(4, 1.0).sample(jax.random.key(0), (3,))
    raw = dist.transforms.CorrCholeskyTransform().inv(factor)
    np.testing.assert_allclose(partial_correlations(factor * jnp.array([1.0, 2.0, 0.5, 3.0])[:, None]), raw, rtol=1e-8)


def test_every_distribution_is_on_the_page():
    from mongepatch.frontends.pymc.distributions import CONVERTERS

    page = (Path(__file__).parent.parent / "docs/pymc.md").read_text(encoding="utf-8")
    names = {name for name in dir(pm) if getattr(getattr(pm, name), "rv_type", None) in CONVERTERS}
    assert {name for name in names if name not in page} <= {"Lognormal"}  # an alias
