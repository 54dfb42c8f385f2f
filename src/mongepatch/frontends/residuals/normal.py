"""Normal distributions: (x − mean)/scale.

Data has one more residual, log scale. With z = (x − loc)/s alone, JᵀJ in log s is z², whose mean is 1, but the Fisher
information is 2. With both it is z² + 1, which is right on average and grows where s is too small.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular

from mongepatch.frontends.residuals.registry import register_residual
from mongepatch.frontends.residuals.site import Residual, Site

_SMALL = 4
"""Rows up to which L⁻¹ is written out: calls of LAPACK take longer, and every derivative is another one."""


def with_log_scale(site: Site, z: jax.Array, scale: jax.Array, missing: float = 1.0) -> Residual:
    """A residual z and, for data, √missing·log scale; `missing` is the information of log scale that z lacks."""
    return [z, missing**0.5 * jnp.log(scale)] if site.observed else z


@register_residual(dist.Normal, formula="(x − loc)/scale", of_data="log scale")
def normal(site: Site) -> Residual:
    """JᵀJ is the Fisher information of loc, and on average that of log scale."""
    return with_log_scale(site, (site.value - site.fn.loc) / site.fn.scale, site.fn.scale)


@register_residual(dist.MultivariateNormal, formula="L⁻¹(x − loc), L the Cholesky factor", of_data="log diag L")
def multivariate_normal(site: Site) -> Residual:
    """With A = L⁻¹dL the information of L is |A|² + Σ Aᵢᵢ²: the first on average from z, the second from log diag L."""
    return whitened(site, site.fn.scale_tril)


@register_residual(
    dist.LowRankMultivariateNormal,
    formula="L⁻¹(x − loc), L the Cholesky factor of the covariance",
    of_data="log diag L",
)
def low_rank_normal(site: Site) -> Residual:
    """As any multivariate normal; the factor is dense."""
    return whitened(site, jnp.linalg.cholesky(site.fn.covariance_matrix))


@register_residual(dist.MultivariateStudentT, formula="z/(1 + |z|²/df)^¼, z = L⁻¹(x − loc)", of_data="log diag L")
def multivariate_student(site: Site) -> Residual:
    """As for the normal near the centre; in the tails, where the density is flatter, it grows with √|z|."""
    z = solve(site.fn.scale_tril, site.value - site.fn.loc)
    shrunk = z / (1 + (z**2).sum(-1, keepdims=True) / jnp.expand_dims(site.fn.df, -1)) ** 0.25
    return with_log_scale(site, shrunk, jnp.diagonal(site.fn.scale_tril, axis1=-2, axis2=-1))


@register_residual(dist.MatrixNormal, formula="L⁻¹(x − loc)R⁻ᵀ, L and R the Cholesky factors of rows and columns")
def matrix_normal(site: Site) -> Residual:
    """Whitened along rows and columns."""
    fn = site.fn
    rows = jax.vmap(solve, (None, -1), -1)(fn.scale_tril_row, site.value - fn.loc)
    return jax.vmap(solve, (None, -2), -2)(fn.scale_tril_column, rows)


@register_residual(dist.CAR, formula="Lᵀ(x − loc), L the Cholesky factor of the precision", of_data="log diag L")
def conditional_autoregression(site: Site) -> Residual:
    """LLᵀ is the precision, so the covariance of Lᵀ(x − loc) is I."""
    factor = jnp.linalg.cholesky(site.fn.precision_matrix)
    z = jnp.einsum("...ij,...i->...j", factor, site.value - site.fn.loc)
    return with_log_scale(site, z, jnp.diagonal(factor, axis1=-2, axis2=-1))


def whitened(site: Site, factor: jax.Array) -> Residual:
    """L⁻¹(x − loc)."""
    z = solve(factor, site.value - site.fn.loc)
    return with_log_scale(site, z, jnp.diagonal(factor, axis1=-2, axis2=-1))


def solve(factor: jax.Array, vector: jax.Array) -> jax.Array:
    """L⁻¹b, broadcast over the leading axes of both."""
    if factor.shape[-1] <= _SMALL:
        return (_small_inverse(factor) * vector[..., None, :]).sum(-1)
    return jnp.vectorize(lambda L, b: solve_triangular(L, b, lower=True), signature="(n,n),(n)->(n)")(factor, vector)


def _small_inverse(factor: jax.Array) -> jax.Array:
    """L⁻¹, row by row."""
    size, rows = factor.shape[-1], list[jax.Array]()
    for i in range(size):
        known = sum((factor[..., i, j, None] * row for j, row in enumerate(rows)), 0.0)
        rows.append((np.eye(size, dtype=factor.dtype)[i] - known) / factor[..., i, i, None])
    return jnp.stack(rows, axis=-2)
