"""Residuals of random variables: what each family of distributions gives to the residual map."""

from mongepatch.frontends.numpyro.residuals import bounded, counts, normal, positive, sequential, tails, wrappers
from mongepatch.frontends.numpyro.residuals.registry import Family, families, family_of, register_residual
from mongepatch.frontends.numpyro.residuals.rows import rows
from mongepatch.frontends.numpyro.residuals.site import Rows, Site

__all__ = [
    "Family",
    "Rows",
    "Site",
    "bounded",
    "counts",
    "families",
    "family_of",
    "normal",
    "positive",
    "register_residual",
    "rows",
    "sequential",
    "tails",
    "wrappers",
]
