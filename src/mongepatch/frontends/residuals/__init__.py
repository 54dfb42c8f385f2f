"""Residuals of random variables: the residual function of each family of distributions.

Distributions are NumPyro's here, whichever library a model is written for, so that each is described once.
"""

from mongepatch.frontends.residuals import bounded, counts, normal, positive, sequential, tails, wrappers
from mongepatch.frontends.residuals.describe import VariableDescription, describe, distribution_name, formula_of
from mongepatch.frontends.residuals.registry import Family, families, family_of, register_residual
from mongepatch.frontends.residuals.residual_map import residual_map, residuals_of_site
from mongepatch.frontends.residuals.site import ResidualArray, Site

__all__ = [
    "Family",
    "ResidualArray",
    "Site",
    "VariableDescription",
    "bounded",
    "counts",
    "describe",
    "distribution_name",
    "families",
    "family_of",
    "formula_of",
    "normal",
    "positive",
    "register_residual",
    "residual_map",
    "residuals_of_site",
    "sequential",
    "tails",
    "wrappers",
]
