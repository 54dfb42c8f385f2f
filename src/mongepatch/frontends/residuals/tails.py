"""Distributions of the whole line that are not normal.

With z = (x − loc)/scale each is linear or bends with its tails, and is scaled so that JᵀJ has the Fisher information of
loc, on average over x. The scale's share that is then missing comes, for data, from log scale.
"""

import jax.numpy as jnp
import numpyro.distributions as dist

from mongepatch.frontends.residuals.normal import with_log_scale
from mongepatch.frontends.residuals.registry import register_residual
from mongepatch.frontends.residuals.site import Residual, Site


@register_residual(
    dist.StudentT, formula="(df + 1)/√(df + 3)·asinh(z/√df), z = (x − loc)/scale", of_data="some log scale"
)
def student(site: Site) -> Residual:
    """The mean of (df + z²)⁻¹ is 1/(df + 1): JᵀJ has the information (df + 1)/(df + 3) of loc, and that of log scale.

    Of the latter it lacks (df − 1)/(df + 3). df²/((df + 1)(df + 3)) is near that, and positive and smooth for all df.
    """
    fn = site.fn
    residual = (fn.df + 1) / jnp.sqrt(fn.df + 3) * jnp.arcsinh((site.value - fn.loc) / (fn.scale * jnp.sqrt(fn.df)))
    if not site.observed:
        return residual
    return [residual, fn.df / jnp.sqrt((fn.df + 1) * (fn.df + 3)) * jnp.log(fn.scale)]


@register_residual(dist.Cauchy, formula="asinh z, z = (x − loc)/scale")
def cauchy(site: Site) -> Residual:
    """Student's with df = 1: JᵀJ has the information ½ of loc and ½ of log scale, which are Fisher's."""
    return jnp.arcsinh((site.value - site.fn.loc) / site.fn.scale)


@register_residual(
    dist.Laplace, dist.AsymmetricLaplace, formula="z/(1 + z²/4)^¼, z = (x − loc)/scale", of_data="√½·log scale"
)
def laplace(site: Site) -> Residual:
    """Slope 1 at the centre, as Fisher's information of loc; √(2|z|) far out, as Φ⁻¹ of the distribution function."""
    z = (site.value - site.fn.loc) / site.fn.scale
    return with_log_scale(site, z / (1 + z**2 / 4) ** 0.25, site.fn.scale, 0.5)


@register_residual(dist.Logistic, formula="z/√3, z = (x − loc)/scale", of_data="√⅓·log scale")
def logistic(site: Site) -> Residual:
    """The information of loc is ⅓; of log scale π²/9 by z and ⅓ by log scale, together Fisher's."""
    z = (site.value - site.fn.loc) / site.fn.scale
    return with_log_scale(site, z / 3**0.5, site.fn.scale, 1 / 3)


@register_residual(dist.SoftLaplace, formula="√½·(x − loc)/scale")
def soft_laplace(site: Site) -> Residual:
    """A hyperbolic secant: the information is ½ of loc and π²/8 of log scale, and so is JᵀJ."""
    return 0.5**0.5 * (site.value - site.fn.loc) / site.fn.scale


@register_residual(dist.Gumbel, formula="(x − loc)/scale")
def gumbel(site: Site) -> Residual:
    """The information of loc is 1; of log scale E z² = 1.98 where Fisher's is 1.82."""
    return (site.value - site.fn.loc) / site.fn.scale


@register_residual(dist.VonMises, formula="2√κ·sin((x − loc)/2)", of_data="½·log κ")
def von_mises(site: Site) -> Residual:
    """As a normal of variance 1/κ near its centre; ½·log κ brings the information of log κ to ½."""
    z = 2 * jnp.sqrt(site.fn.concentration) * jnp.sin((site.value - site.fn.loc) / 2)
    return with_log_scale(site, z, site.fn.concentration, 0.25)
