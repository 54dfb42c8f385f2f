"""PyMC's distributions with one random number a draw, and their names in NumPyro. Parameters are in PyMC's order."""

from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist
import pymc as pm
from numpyro.distributions.truncated import LeftTruncatedDistribution

from mongepatch.frontends.pymc.laws.law import Law, NotListedError, Reader, known, law_of, parameters_of, plain
from mongepatch.frontends.pymc.laws.links import log_weights_of, logits_of


def flat() -> Any:
    """A flat prior says nothing of a scale."""
    return dist.ImproperUniform(dist.constraints.real, (), ())


def bernoulli(variable: Any) -> Law:
    """By its log-odds where the model has them."""
    (p,) = parameters_of(variable)
    logits = logits_of(p)
    return law_of((p,), dist.BernoulliProbs) if logits is None else law_of((logits,), dist.BernoulliLogits)


def binomial(variable: Any) -> Law:
    """By its log-odds where the model has them."""
    n, p = parameters_of(variable)
    logits = logits_of(p)
    if logits is None:
        return law_of((n, p), lambda n, p: dist.BinomialProbs(p, n))
    return law_of((n, logits), lambda n, logits: dist.BinomialLogits(logits, n))


def categorical(variable: Any) -> Law:
    """By its log-weights where the model has them."""
    (p,) = parameters_of(variable)
    logits = log_weights_of(p)
    return law_of((p,), dist.CategoricalProbs) if logits is None else law_of((logits,), dist.CategoricalLogits)


def geometric(variable: Any) -> Law:
    """PyMC counts trials, NumPyro failures."""
    law = law_of(parameters_of(variable), dist.GeometricProbs)
    return Law(law.parameters, lambda arrays, value, raw: law.sites(arrays, value - 1, raw))


def truncated_normal(variable: Any) -> Law:
    """Between those of its bounds that are finite."""
    loc, scale, low, high = parameters_of(variable)
    return between((loc, scale), dist.Normal, low, high)


def between(parameters: tuple[Any, ...], make: Any, low: Any, high: Any) -> Law:
    """A distribution of the whole line between bounds, either of which may be infinite."""
    bounds = {name: bound for name, bound in (("low", low), ("high", high)) if not _is_infinite(bound)}
    count = len(parameters)

    def truncated(*values: Any) -> Any:
        return dist.TruncatedDistribution(make(*values[:count]), **dict(zip(bounds, values[count:], strict=True)))

    return law_of((*parameters, *bounds.values()), truncated)


def _is_infinite(bound: Any) -> bool:
    value = known(bound)
    return value is not None and bool(jnp.isinf(value).all())


_READERS: dict[str, Reader] = {
    "AsymmetricLaplace": plain(lambda b, kappa, mu: dist.AsymmetricLaplace(mu, 1 / b, kappa)),
    "Bernoulli": bernoulli,
    "Beta": plain(dist.Beta),
    "BetaBinomial": plain(lambda n, a, b: dist.BetaBinomial(a, b, n)),
    "Binomial": binomial,
    "Categorical": categorical,
    "Cauchy": plain(dist.Cauchy),
    "Exponential": plain(lambda scale: dist.Exponential(1 / scale)),
    "Flat": plain(flat),
    "Gamma": plain(lambda k, scale: dist.Gamma(k, 1 / scale)),
    "Geometric": geometric,
    "Gumbel": plain(dist.Gumbel),
    "HalfCauchy": plain(dist.HalfCauchy),
    "HalfFlat": plain(flat),
    "HalfNormal": plain(lambda loc, scale: dist.HalfNormal(scale)),
    "HalfStudentT": plain(
        lambda df, scale: LeftTruncatedDistribution(dist.StudentT(df, jnp.zeros_like(scale), scale), 0.0)
    ),
    "InverseGamma": plain(dist.InverseGamma),
    "Kumaraswamy": plain(dist.Kumaraswamy),
    "Laplace": plain(dist.Laplace),
    "LogNormal": plain(dist.LogNormal),
    "Logistic": plain(dist.Logistic),
    "NegativeBinomial": plain(lambda n, p: dist.GammaPoisson(n, p / (1 - p))),
    "Normal": plain(dist.Normal),
    "Pareto": plain(lambda alpha, low: dist.Pareto(low, alpha)),
    "Poisson": plain(dist.Poisson),
    "StudentT": plain(dist.StudentT),
    "TruncatedNormal": truncated_normal,
    "Uniform": plain(dist.Uniform),
    "VonMises": plain(dist.VonMises),
    "Weibull": plain(lambda concentration, scale: dist.Weibull(scale, concentration)),
}

READERS: dict[type, Reader] = {getattr(pm, name).rv_type: reader for name, reader in _READERS.items()}
"""By the class of PyTensor's operation."""


def makes_line(make_type: type) -> Any:
    """What a distribution of the whole line that NumPyro can truncate is made by."""
    found = {
        "Normal": dist.Normal,
        "StudentT": dist.StudentT,
        "Cauchy": dist.Cauchy,
        "Laplace": dist.Laplace,
        "Logistic": dist.Logistic,
    }
    for name, make in found.items():
        if getattr(pm, name).rv_type is make_type:
            return make
    raise NotListedError
