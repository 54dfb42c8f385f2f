"""Residuals of random variables: what each family of distributions gives to the residual map.

Distributions are NumPyro's here, whatever library a model is written for: each is described once.
"""

from mongepatch.frontends.residuals import bounded, counts, normal, positive, sequential, tails, wrappers
from mongepatch.frontends.residuals.describe import Line, describe, distribution_name, formula_of
from mongepatch.frontends.residuals.registry import Family, families, family_of, register_residual
from mongepatch.frontends.residuals.residual_map import residual_map
from mongepatch.frontends.residuals.rows import rows
from mongepatch.frontends.residuals.site import Rows, Site

__all__ = [
    "Family",
    "Line",
    "Rows",
    "Site",
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
    "rows",
    "sequential",
    "tails",
    "wrappers",
]
