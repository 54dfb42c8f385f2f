"""Distributions of the whole real line that are not normal.

Each residual is a function of z = (x − loc)/scale, linear or flatter in the tails as the density is. Its factor is such
that JᵀJ in loc is the Fisher information, on average over x. Data has a multiple of log scale as a further residual,
for the information of the scale that z lacks.
"""

import jax.numpy as jnp
import numpyro.distributions as dist

from mongepatch.frontends.residuals.normal import with_log_scale
from mongepatch.frontends.residuals.registry import register_residual
from mongepatch.frontends.residuals.site import Residual, Site


@register_residual(
    dist.StudentT,
    formula="(df + 1)/√(df + 3)·asinh(z/√df), z = (x − loc)/scale",
    of_data="df/√((df + 1)(df + 3))·log scale",
)
def student(site: Site) -> Residual:
    """The mean of (df + z²)⁻¹ is 1/(df + 1), so JᵀJ in loc is (df + 1)/(df + 3), the Fisher information.

    In log scale it is (df + 1)/(df + 3) too, and the Fisher information is 2df/(df + 3). The further residual of data
    adds df²/((df + 1)(df + 3)), which is close to the difference, and positive and smooth for all df.
    """
    fn = site.fn
    residual = (fn.df + 1) / jnp.sqrt(fn.df + 3) * jnp.arcsinh((site.value - fn.loc) / (fn.scale * jnp.sqrt(fn.df)))
    if not site.observed:
        return residual
    return [residual, fn.df / jnp.sqrt((fn.df + 1) * (fn.df + 3)) * jnp.log(fn.scale)]


@register_residual(dist.Cauchy, formula="asinh z, z = (x − loc)/scale")
def cauchy(site: Site) -> Residual:
    """Student's t with df = 1: JᵀJ is ½ in loc and ½ in log scale, which is the Fisher information."""
    return jnp.arcsinh((site.value - site.fn.loc) / site.fn.scale)


@register_residual(
    dist.Laplace, dist.AsymmetricLaplace, formula="z/(1 + z²/4)^¼, z = (x − loc)/scale", of_data="√½·log scale"
)
def laplace(site: Site) -> Residual:
    """The slope at the centre is 1, the Fisher information of loc; in the tails it grows like Φ⁻¹(F(x)), √(2|z|)."""
    z = (site.value - site.fn.loc) / site.fn.scale
    return with_log_scale(site, z / (1 + z**2 / 4) ** 0.25, site.fn.scale, 0.5)


@register_residual(dist.Logistic, formula="z/√3, z = (x − loc)/scale", of_data="√⅓·log scale")
def logistic(site: Site) -> Residual:
    """The information is ⅓ of loc and π²/9 + ⅓ of log scale; z gives the first term, log scale the second."""
    z = (site.value - site.fn.loc) / site.fn.scale
    return with_log_scale(site, z / 3**0.5, site.fn.scale, 1 / 3)


@register_residual(dist.SoftLaplace, formula="√½·(x − loc)/scale")
def soft_laplace(site: Site) -> Residual:
    """The hyperbolic secant: the information is ½ of loc and π²/8 of log scale, as JᵀJ is."""
    return 0.5**0.5 * (site.value - site.fn.loc) / site.fn.scale


@register_residual(dist.Gumbel, formula="(x − loc)/scale")
def gumbel(site: Site) -> Residual:
    """JᵀJ is 1 in loc, the information; in log scale it is E z² = 1.98, and the information is 1.82."""
    return (site.value - site.fn.loc) / site.fn.scale


@register_residual(dist.VonMises, formula="2√κ·sin((x − loc)/2)", of_data="½·log κ")
def von_mises(site: Site) -> Residual:
    """Near its centre, a normal of variance 1/κ; with ½·log κ the information of log κ is ½."""
    z = 2 * jnp.sqrt(site.fn.concentration) * jnp.sin((site.value - site.fn.loc) / 2)
    return with_log_scale(site, z, site.fn.concentration, 0.25)
