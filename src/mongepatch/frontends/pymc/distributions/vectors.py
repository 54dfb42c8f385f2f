"""PyMC's distributions of vectors and matrices as distributions of NumPyro.

Cholesky factors of covariances are computed in the PyTensor graph.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
import pymc as pm
from pytensor.tensor.linalg import cholesky

from mongepatch.frontends.pymc.distributions.convert import (
    CONVERTERS,
    Arrays,
    NoEquivalentError,
    SymbolicDistribution,
    constant_value,
    convert,
    from_parameters,
    one_distribution,
    parameters_of,
    register_converters,
)
from mongepatch.frontends.residuals import Site


def multivariate_normal(variable: Any) -> SymbolicDistribution:
    """Where a model is given the factor L, PyTensor simplifies the Cholesky factor of LLᵀ to L."""
    mean, covariance = parameters_of(variable)
    return from_parameters(
        (mean, cholesky(covariance)), lambda mean, factor: dist.MultivariateNormal(mean, scale_tril=factor)
    )


def multivariate_student(variable: Any) -> SymbolicDistribution:
    """As for the normal."""
    df, mean, scale = parameters_of(variable)
    return from_parameters((df, mean, cholesky(scale)), dist.MultivariateStudentT)


def conditional_autoregression(variable: Any) -> SymbolicDistribution:
    """With neighbourhoods that PyMC has as a dense constant matrix."""
    mu, neighbours, alpha, tau, *_ = parameters_of(variable)
    matrix = constant_value(neighbours)
    if matrix is None or not hasattr(matrix, "shape"):
        raise NoEquivalentError
    return from_parameters((mu, alpha, tau), lambda mu, alpha, tau: dist.CAR(mu, alpha, tau, jnp.asarray(matrix)))


def covariance_factor(variable: Any) -> SymbolicDistribution:
    """LKJCholeskyCov: norms of the factor's rows are the standard deviations, and their directions have LKJ."""
    n, eta, deviations = parameters_of(variable)
    size, inner = constant_value(n), convert(deviations)
    if size is None:
        raise NoEquivalentError
    rows, columns = jnp.tril_indices(int(size))

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        factor = jnp.zeros((*value.shape[:-1], int(size), int(size)), value.dtype).at[..., rows, columns].set(value)
        norms = jnp.linalg.norm(factor, axis=-1)
        angles = partial_correlations(factor)
        correlation = Site(dist.LKJCholesky(int(size), arrays[0]), factor / norms[..., None], angles)
        return [*inner.sites(arrays[1:], norms, jnp.log(norms)), correlation]

    return SymbolicDistribution((eta, *inner.parameters), sites)


def partial_correlations(factor: jax.Array) -> jax.Array:
    """NumPyro's coordinates of a correlation matrix: artanh of partial correlations, row by row below the diagonal.

    The partial correlation of entry j is its ratio to the norm of the entries from j on. Its artanh equals asinh of the
    ratio to the norm of the entries after j, which never rounds to ±1.
    """
    norms = jnp.sqrt(jnp.cumsum(factor[..., ::-1] ** 2, axis=-1)[..., ::-1])
    rows, columns = jnp.tril_indices(factor.shape[-1], -1)
    return jnp.arcsinh(factor[..., rows, columns] / norms[..., rows, columns + 1])


def zero_sum(variable: Any) -> SymbolicDistribution:
    """The shape of the event is that of the value."""
    scale, *_ = parameters_of(variable)
    axes = variable.owner.op.ndim_supp

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        return [
            Site(dist.ZeroSumNormal(_without_event_axes(arrays[0], axes), value.shape[value.ndim - axes :]), value, raw)
        ]

    return SymbolicDistribution((scale,), sites)


def _without_event_axes(scale: jax.Array, axes: int) -> jax.Array:
    """A scale without the axes of length 1 that PyMC may give it for each axis of the event."""
    return (
        scale.reshape(scale.shape[: scale.ndim - axes])
        if scale.ndim >= axes and scale.shape[-axes:] == (1,) * axes
        else scale
    )


register_converters(
    {
        "CAR": conditional_autoregression,
        "Dirichlet": one_distribution(dist.Dirichlet),
        "MatrixNormal": one_distribution(dist.MatrixNormal),  # its parameters are Cholesky factors in PyMC too
        "Multinomial": one_distribution(lambda n, p: dist.MultinomialProbs(p, n)),
        "DirichletMultinomial": one_distribution(lambda n, a: dist.DirichletMultinomial(a, n)),
        "MvNormal": multivariate_normal,
        "MvStudentT": multivariate_student,
        "ZeroSumNormal": zero_sum,
    }
)
CONVERTERS[pm.distributions.multivariate._LKJCholeskyCov.rv_type] = covariance_factor
