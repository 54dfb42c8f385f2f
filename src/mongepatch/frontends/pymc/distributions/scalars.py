"""PyMC's univariate distributions as distributions of NumPyro. Parameters of converters are in PyMC's order."""

from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist
import pymc as pm
from numpyro.distributions.truncated import LeftTruncatedDistribution
from pytensor.scalar import Sigmoid
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.special import Softmax

from mongepatch.frontends.pymc.distributions.convert import (
    NoEquivalentError,
    SymbolicDistribution,
    constant_value,
    from_parameters,
    one_distribution,
    parameters_of,
    register_converters,
)


def flat() -> Any:
    """A flat prior, which does not define a scale."""
    return dist.ImproperUniform(dist.constraints.real, (), ())


def bernoulli(variable: Any) -> SymbolicDistribution:
    """With its log-odds, if the model makes the probability from them."""
    (p,) = parameters_of(variable)
    logits = _sigmoid_input(p)
    if logits is None:
        return from_parameters((p,), dist.BernoulliProbs)
    return from_parameters((logits,), dist.BernoulliLogits)


def binomial(variable: Any) -> SymbolicDistribution:
    """With its log-odds, if the model makes the probability from them."""
    n, p = parameters_of(variable)
    logits = _sigmoid_input(p)
    if logits is None:
        return from_parameters((n, p), lambda n, p: dist.BinomialProbs(p, n))
    return from_parameters((n, logits), lambda n, logits: dist.BinomialLogits(logits, n))


def categorical(variable: Any) -> SymbolicDistribution:
    """With its logits, if the model makes the probabilities from them."""
    (p,) = parameters_of(variable)
    logits = _softmax_input(p)
    if logits is None:
        return from_parameters((p,), dist.CategoricalProbs)
    return from_parameters((logits,), dist.CategoricalLogits)


def geometric(variable: Any) -> SymbolicDistribution:
    """PyMC counts trials, NumPyro failures."""
    failures = from_parameters(parameters_of(variable), dist.GeometricProbs)
    return failures._replace(sites=lambda arrays, value, raw: failures.sites(arrays, value - 1, raw))


def truncated_normal(variable: Any) -> SymbolicDistribution:
    """Truncated at those of its bounds that are finite."""
    loc, scale, low, high = parameters_of(variable)
    return truncate((loc, scale), dist.Normal, low, high)


def truncate(parameters: tuple[Any, ...], make: Any, low: Any, high: Any) -> SymbolicDistribution:
    """A distribution of the whole real line, truncated to an interval; either bound may be infinite."""
    bounds = {name: bound for name, bound in (("low", low), ("high", high)) if not _is_infinite(bound)}
    count = len(parameters)

    def truncated(*values: Any) -> Any:
        return dist.TruncatedDistribution(make(*values[:count]), **dict(zip(bounds, values[count:], strict=True)))

    return from_parameters((*parameters, *bounds.values()), truncated)


def _is_infinite(bound: Any) -> bool:
    value = constant_value(bound)
    return value is not None and bool(jnp.isinf(value).all())


_TRUNCATABLE = {
    "Normal": dist.Normal,
    "StudentT": dist.StudentT,
    "Cauchy": dist.Cauchy,
    "Laplace": dist.Laplace,
    "Logistic": dist.Logistic,
}


def truncatable(rv_type: type) -> Any:
    """The NumPyro distribution of a class of random variables, if NumPyro can truncate it."""
    for name, make in _TRUNCATABLE.items():
        if getattr(pm, name).rv_type is rv_type:
            return make
    raise NoEquivalentError


def _sigmoid_input(probability: Any) -> Any:
    """The log-odds that a probability is the sigmoid of, or None. Log-odds never round to a bound."""
    return _input_of(probability, lambda op: isinstance(op, Elemwise) and isinstance(op.scalar_op, Sigmoid))


def _softmax_input(probabilities: Any) -> Any:
    """The logits that probabilities are the softmax of along their last axis, or None."""
    last = probabilities.type.ndim - 1
    logits = _input_of(probabilities, lambda op: isinstance(op, Softmax) and op.axis in (-1, None, last))
    return None if logits is None or logits.type.ndim != probabilities.type.ndim else logits


def _input_of(graph: Any, is_link: Any) -> Any:
    """The input of a graph's last operation, if that is the one asked for."""
    node = graph.owner
    if node is None:
        return None
    if is_link(node.op):
        return node.inputs[0]
    if isinstance(node.op, DimShuffle) and tuple(node.op.shuffle) == tuple(range(len(node.op.shuffle))):
        before = _input_of(node.inputs[0], is_link)  # PyTensor puts axes of length 1 in front of parameters
        return None if before is None else node.op(before)
    return None


register_converters(
    {
        "AsymmetricLaplace": one_distribution(lambda b, kappa, mu: dist.AsymmetricLaplace(mu, 1 / b, kappa)),
        "Bernoulli": bernoulli,
        "Beta": one_distribution(dist.Beta),
        "BetaBinomial": one_distribution(lambda n, a, b: dist.BetaBinomial(a, b, n)),
        "Binomial": binomial,
        "Categorical": categorical,
        "Cauchy": one_distribution(dist.Cauchy),
        "Exponential": one_distribution(lambda scale: dist.Exponential(1 / scale)),
        "Flat": one_distribution(flat),
        "Gamma": one_distribution(lambda k, scale: dist.Gamma(k, 1 / scale)),
        "Geometric": geometric,
        "Gumbel": one_distribution(dist.Gumbel),
        "HalfCauchy": one_distribution(dist.HalfCauchy),
        "HalfFlat": one_distribution(flat),
        "HalfNormal": one_distribution(lambda loc, scale: dist.HalfNormal(scale)),
        "HalfStudentT": one_distribution(
            lambda df, scale: LeftTruncatedDistribution(dist.StudentT(df, jnp.zeros_like(scale), scale), 0.0)
        ),
        "InverseGamma": one_distribution(dist.InverseGamma),
        "Kumaraswamy": one_distribution(dist.Kumaraswamy),
        "Laplace": one_distribution(dist.Laplace),
        "LogNormal": one_distribution(dist.LogNormal),
        "Logistic": one_distribution(dist.Logistic),
        "NegativeBinomial": one_distribution(lambda n, p: dist.GammaPoisson(n, p / (1 - p))),
        "Normal": one_distribution(dist.Normal),
        "Pareto": one_distribution(lambda alpha, low: dist.Pareto(low, alpha)),
        "Poisson": one_distribution(dist.Poisson),
        "StudentT": one_distribution(dist.StudentT),
        "TruncatedNormal": truncated_normal,
        "Uniform": one_distribution(dist.Uniform),
        "VonMises": one_distribution(dist.VonMises),
        "Weibull": one_distribution(lambda concentration, scale: dist.Weibull(scale, concentration)),
    }
)
