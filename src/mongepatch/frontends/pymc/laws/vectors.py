"""PyMC's distributions of vectors and matrices as NumPyro's. Factors of covariances are taken in PyTensor's graph."""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
import pymc as pm
from pytensor.tensor.linalg import cholesky

from mongepatch.frontends.pymc.laws.law import Arrays, Law, NotListedError, Reader, known, law_of, parameters_of, plain
from mongepatch.frontends.residuals import Site


def multivariate_normal(variable: Any) -> Law:
    """PyTensor knows that the factor of LLᵀ is L, where a model was given L."""
    mean, covariance = parameters_of(variable)
    return law_of((mean, cholesky(covariance)), lambda mean, factor: dist.MultivariateNormal(mean, scale_tril=factor))


def multivariate_student(variable: Any) -> Law:
    """As the normal's."""
    df, mean, scale = parameters_of(variable)
    return law_of((df, mean, cholesky(scale)), dist.MultivariateStudentT)


def conditional_autoregression(variable: Any) -> Law:
    """Of the neighbourhoods that PyMC has as a dense matrix."""
    mu, neighbours, alpha, tau, *_ = parameters_of(variable)
    matrix = known(neighbours)
    if matrix is None or not hasattr(matrix, "shape"):
        raise NotListedError
    return law_of((mu, alpha, tau), lambda mu, alpha, tau: dist.CAR(mu, alpha, tau, jnp.asarray(matrix)))


def covariance_factor(variable: Any) -> Law:
    """LKJCholeskyCov: the rows of the factor have standard deviations for norms, and directions by LKJ."""
    from mongepatch.frontends.pymc.laws.find import find

    n, eta, deviations = parameters_of(variable)
    size, inner = known(n), find(deviations)
    if size is None:
        raise NotListedError
    rows, columns = jnp.tril_indices(int(size))

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        factor = jnp.zeros((*value.shape[:-1], int(size), int(size)), value.dtype).at[..., rows, columns].set(value)
        norms = jnp.linalg.norm(factor, axis=-1)
        angles = partial_correlations(factor)
        correlation = Site(dist.LKJCholesky(int(size), arrays[0]), factor / norms[..., None], angles)
        return [*inner.sites(arrays[1:], norms, jnp.log(norms)), correlation]

    return Law((eta, *inner.parameters), sites)


def partial_correlations(factor: jax.Array) -> jax.Array:
    """NumPyro's coordinates of a correlation matrix: artanh of partial correlations, row by row below the diagonal.

    The partial correlation of entry j of a row is its share of what the entries before it leave; artanh of that is
    asinh of its ratio to what is left after it, which never saturates.
    """
    left = jnp.sqrt(jnp.cumsum(factor[..., ::-1] ** 2, axis=-1)[..., ::-1])
    rows, columns = jnp.tril_indices(factor.shape[-1], -1)
    return jnp.arcsinh(factor[..., rows, columns] / left[..., rows, columns + 1])


def zero_sum(variable: Any) -> Law:
    """Of a shape that is known."""
    scale, *_ = parameters_of(variable)
    axes = variable.owner.op.ndim_supp

    def sites(arrays: Arrays, value: Any, raw: Any) -> list[Site]:
        return [Site(dist.ZeroSumNormal(_scalars(arrays[0], axes), value.shape[value.ndim - axes :]), value, raw)]

    return Law((scale,), sites)


def _scalars(scale: jax.Array, axes: int) -> jax.Array:
    """PyMC's scales may have an axis of length 1 for each axis of the event."""
    return (
        scale.reshape(scale.shape[: scale.ndim - axes])
        if scale.ndim >= axes and scale.shape[-axes:] == (1,) * axes
        else scale
    )


_READERS: dict[str, Reader] = {
    "CAR": conditional_autoregression,
    "Dirichlet": plain(dist.Dirichlet),
    "MatrixNormal": plain(dist.MatrixNormal),  # PyMC has the factors of its rows and columns
    "Multinomial": plain(lambda n, p: dist.MultinomialProbs(p, n)),
    "DirichletMultinomial": plain(lambda n, a: dist.DirichletMultinomial(a, n)),
    "MvNormal": multivariate_normal,
    "MvStudentT": multivariate_student,
    "ZeroSumNormal": zero_sum,
}
READERS: dict[type, Reader] = {getattr(pm, name).rv_type: reader for name, reader in _READERS.items()}
READERS[pm.distributions.multivariate._LKJCholeskyCov.rv_type] = covariance_factor
